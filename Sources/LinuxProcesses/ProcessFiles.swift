internal import AudioPolicy

/// `/proc/PID/stat`, as far as it is needed.
struct ProcessStat {
    var name: String
    var parent: Int32
    var session: Int32
    /// Clock ticks since the boot.
    var startTicks: UInt64

    init?(_ text: UnsafeRawBufferPointer) {
        // The name stands in parentheses and may contain any.
        guard let open = text.firstIndex(of: UInt8(ascii: "(")), let close = text.lastIndex(of: UInt8(ascii: ")")),
            open < close
        else { return nil }
        name = String(decoding: text[(open + 1)..<close], as: UTF8.self)
        var fields = StatFields(text: UnsafeRawBufferPointer(rebasing: text[(close + 1)...]))
        // A dead process that nobody has waited for is none.
        guard let state = fields.next(), state.first != UInt8(ascii: "Z"), state.first != UInt8(ascii: "X"),
            let parent = fields.number(), fields.next() != nil, let session = fields.number(), fields.skip(15),
            let ticks = fields.number()
        else { return nil }
        self.parent = Int32(truncatingIfNeeded: parent)
        self.session = Int32(truncatingIfNeeded: session)
        startTicks = UInt64(truncatingIfNeeded: ticks)
    }
}

/// Fields with blanks between them.
private struct StatFields {
    var text: UnsafeRawBufferPointer
    private var position = 0

    init(text: UnsafeRawBufferPointer) { self.text = text }

    mutating func next() -> UnsafeRawBufferPointer? {
        while position < text.count, text[position] <= UInt8(ascii: " ") { position += 1 }
        let start = position
        while position < text.count, text[position] > UInt8(ascii: " ") { position += 1 }
        return position > start ? UnsafeRawBufferPointer(rebasing: text[start..<position]) : nil
    }

    mutating func number() -> Int64? {
        guard let field = next() else { return nil }
        var value: Int64 = 0
        var digits = field[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        for digit in digits {
            guard (48...57).contains(digit) else { return nil }
            value = value &* 10 &+ Int64(digit - 48)
        }
        return isNegative ? -value : value
    }

    mutating func skip(_ count: Int) -> Bool {
        for _ in 0..<count { guard next() != nil else { return false } }
        return true
    }
}

/// `/proc/PID/status`, as far as it is needed.
struct ProcessStatus {
    var userID: UInt32
    var innerPid: Int32?

    init?(_ text: UnsafeRawBufferPointer) {
        var user: Int64?
        for line in text.split(separator: UInt8(ascii: "\n")) {
            var fields = StatFields(text: UnsafeRawBufferPointer(rebasing: line))
            guard let name = fields.next() else { continue }
            if name.elementsEqual("Uid:".utf8) { user = fields.number() }
            if name.elementsEqual("NSpid:".utf8) {
                while let pid = fields.number() { innerPid = Int32(truncatingIfNeeded: pid) }
            }
        }
        guard let user else { return nil }
        userID = UInt32(truncatingIfNeeded: user)
    }
}

enum ControlGroup {
    /// Whether a unit is an application's own.
    static func isApplication(_ unit: String) -> Bool {
        unit.hasPrefix("app-") && (unit.hasSuffix(".scope") || unit.hasSuffix(".service"))
    }

    /// The leaf in `/proc/PID/cgroup`, of the unified hierarchy or of systemd's own in the old layout; `nil` at the root.
    static func leaf(_ text: UnsafeRawBufferPointer) -> String? {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[1].isEmpty || fields[1].elementsEqual("name=systemd".utf8),
                let leaf = fields[2].split(separator: UInt8(ascii: "/")).last
            else { continue }
            return String(decoding: leaf, as: UTF8.self)
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
    static func snap(label: String?, unit: String?) -> ProcessFacts.Sandbox? {
        for case let text? in [label, unit] where text.hasPrefix("snap.") {
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
