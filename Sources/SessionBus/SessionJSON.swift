public import AudioPolicy
import FoundationEssentials

/// The JSON of the command and the bus: keys sorted, one line, no slash escaped.
public enum SessionJSON {
    /// What the contract has no number for is written as the text `inf`, `-inf` or `nan`, so that nothing a server says
    /// can make a status fail.
    public static func encode(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = try? encoder.encode(value) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    /// `nil` for what is not one.
    public static func status(_ text: String) -> SessionStatus? { decode(text) }
    public static func devices(_ text: String) -> [SessionStatus.Device]? { decode(text) }
    public static func event(_ text: String) -> SessionEvent? { decode(text) }

    private static func decode<Value: Decodable>(_ text: String) -> Value? {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try? decoder.decode(Value.self, from: Data(text.utf8))
    }
}
