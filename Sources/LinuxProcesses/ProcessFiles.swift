internal import AudioPolicy

/// `/proc/PID/stat`, as far as it is needed.
struct ProcessStat {
    var name: String
    var parent: Int32
    var session: Int32
    /// Clock ticks since the boot.
    var startTicks: UInt64

    init?(_ text: String?) {
        // Bytes: a stream that appears waits for this, once for each ancestor of its process.
        // The name stands in parentheses and may contain any.
        guard let text, let open = text.utf8.firstIndex(of: UInt8(ascii: "(")),
            let close = text.utf8.lastIndex(of: UInt8(ascii: ")")), open < close
        else { return nil }
        name = String(text[text.utf8.index(after: open)..<close])
        let fields = text.utf8[text.utf8.index(after: close)...].split(separator: UInt8(ascii: " "), maxSplits: 20)
        guard fields.count > 19, let parent = Int32(Substring(fields[1])), let session = Int32(Substring(fields[3])),
            let ticks = UInt64(Substring(fields[19]))
        else { return nil }
        // A dead process that nobody has waited for is none.
        guard fields[0].first != UInt8(ascii: "Z"), fields[0].first != UInt8(ascii: "X") else { return nil }
        self.parent = parent
        self.session = session
        startTicks = ticks
    }
}

/// `/proc/PID/status`, as far as it is needed.
struct ProcessStatus {
    var userID: UInt32
    var innerPid: Int32?

    init?(_ text: String?) {
        guard let text else { return nil }
        var user: UInt32?
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            guard line.first == UInt8(ascii: "U") || line.first == UInt8(ascii: "N") else { continue }
            let fields = Substring(line).split(whereSeparator: { $0 == "\t" || $0 == " " })
            if fields.first == "Uid:", fields.count > 1 { user = UInt32(fields[1]) }
            if fields.first == "NSpid:", let last = fields.last { innerPid = Int32(last) }
        }
        guard let user else { return nil }
        userID = user
    }
}

enum ControlGroup {
    /// The leaf of `/proc/PID/cgroup`, if it is an application's own.
    static func applicationUnit(_ text: String) -> String? {
        guard let leaf = leaf(text), leaf.hasPrefix("app-"), leaf.hasSuffix(".scope") || leaf.hasSuffix(".service") else {
            return nil
        }
        return leaf
    }

    /// Of the unified hierarchy, or of systemd's own in the old layout.
    static func leaf(_ text: String) -> String? {
        for line in text.split(separator: "\n") where line.hasPrefix("0::") || line.contains(":name=systemd:") {
            if let leaf = line.split(separator: "/").last, line.contains("/"), !leaf.hasSuffix(":") { return String(leaf) }
        }
        return nil
    }
}

enum Sandboxes {
    /// From the file that Flatpak puts into every sandbox.
    static func flatpak(_ info: String) -> ProcessFacts.Sandbox? {
        var section = ""
        var application: String?
        var instance = ""
        for line in info.split(separator: "\n") {
            if line.hasPrefix("[") {
                section = String(line)
                continue
            }
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { continue }
            switch (section, parts[0]) {
            case ("[Application]", "name"), ("[Runtime]", "name"): application = application ?? parts[1]
            case ("[Instance]", "instance-id"): instance = parts[1]
            default: break
            }
        }
        return application.map { ProcessFacts.Sandbox(application: $0, instance: instance) }
    }

    /// From the security label, `snap.NAME.APP (enforce)`, or the unit `snap.NAME.APP-UUID.scope`.
    static func snap(label: String, cgroup: String) -> ProcessFacts.Sandbox? {
        let unit = ControlGroup.leaf(cgroup)
        for text in [label, unit ?? ""] where text.hasPrefix("snap.") {
            let parts = text.split(separator: ".")
            guard parts.count >= 3 else { continue }
            return ProcessFacts.Sandbox(application: String(parts[1]), instance: instance(unit))
        }
        return nil
    }

    /// A snap has no instance id; the unit of one start has one of its own.
    private static func instance(_ unit: String?) -> String {
        guard let unit, unit.hasPrefix("snap."), unit.hasSuffix(".scope") else { return "" }
        return String(unit.dropFirst(5).dropLast(6))
    }
}
