import AudioSession

/// The variables by which a command's streams bear the tag of a claim, beside whatever the user has set in them.
enum TagVariables {
    /// - Parameter connection: the unique name of the holder's bus connection.
    static func variables(
        _ kind: AudioSessionClientKind, connection: String, in environment: [String: String]
    ) -> [String: String] {
        [
            "PULSE_PROP": pulseAudio(
                kind.pulseAudioProperties(connection: connection), after: environment["PULSE_PROP"] ?? ""),
            "PIPEWIRE_PROPS": pipeWire(
                kind.pipeWireProperties(connection: connection), after: environment["PIPEWIRE_PROPS"] ?? ""),
        ]
    }

    /// A property list as libpulse reads it: `key="value"`, blanks between, the last of a key counts.
    static func pulseAudio(_ properties: [String: String], after own: String) -> String {
        let pairs = properties.sorted { $0.key < $1.key }.map { "\($0.key)=\(quoted($0.value))" }
        return ([own].filter { !isBlank($0) } + pairs).joined(separator: " ")
    }

    /// An object as libpipewire reads it, with or without braces; the last of a key counts. A comment in the user's own
    /// ends with its line.
    static func pipeWire(_ properties: [String: String], after own: String) -> String {
        let pairs = properties.sorted { $0.key < $1.key }.map { "\($0.key) = \(quoted($0.value))" }
        var inner = trimmed(own)
        if inner.first == "{", inner.last == "}" { inner = inner.dropFirst().dropLast() }
        return "{ " + (isBlank(inner) ? "" : inner + "\n") + pairs.joined(separator: " ") + " }"
    }

    /// Both read a backslash before a quote and before itself.
    private static func quoted(_ value: String) -> String {
        "\"" + value.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : String($1) } + "\""
    }

    private static func isBlank(_ text: some StringProtocol) -> Bool { text.allSatisfy(\.isWhitespace) }

    private static func trimmed(_ text: String) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        return start.dropLast(start.reversed().prefix(while: \.isWhitespace).count)
    }
}
