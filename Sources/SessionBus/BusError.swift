import AudioSession
import CSystemd
import Glibc

/// What went wrong on the bus.
public struct BusError: Error, Equatable, Sendable {
    public enum Code: Equatable, Sendable {
        /// No session bus, or it cannot be reached.
        case noBus
        /// Nobody owns Sordino's name.
        case noDaemon
        /// The name is owned and there was no answer in time.
        case noAnswer
        /// Somebody else owns the name that was asked for.
        case nameTaken
        /// The bus or the daemon does not let us.
        case notPermitted
        /// The daemon answered with one of its own errors, `org.sordino.AudioSession1.Error.*`; the last word of its name.
        case refused(String)
        case other
    }

    public var code: Code
    /// A sentence for people, without an end.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// From a negative return value of sd-bus.
    init(_ what: String, result: Int32) {
        let code: Code =
            switch -result {
            case ENOENT, ECONNREFUSED, ECONNRESET, ENOTCONN, EPIPE, ENOMEDIUM, EINVAL, EAFNOSUPPORT: .noBus
            case EACCES, EPERM: .notPermitted
            case ETIMEDOUT: .noAnswer
            case EEXIST: .nameTaken
            default: .other
            }
        self.init(code, "\(what): \(String(cString: strerror(-result)))")
    }

    /// From the error that came back instead of an answer.
    init(name: String, message: String, result: Int32) {
        switch name {
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            self.init(.noDaemon, "no Sordino daemon is running")
        case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout":
            self.init(.noAnswer, "the Sordino daemon does not answer")
        case "org.freedesktop.DBus.Error.AccessDenied":
            self.init(.notPermitted, message)
        case _ where name.hasPrefix(BusContract.errorPrefix):
            self.init(.refused(String(name.dropFirst(BusContract.errorPrefix.count))), message)
        case "": self.init("the session bus", result: result)
        default: self.init(.other, message.isEmpty ? name : message)
        }
    }
}

/// The names on the bus. They are a contract.
public enum BusContract {
    public static let name = "org.sordino.AudioSession1"
    public static let path = "/org/sordino/AudioSession1"
    public static let interface = "org.sordino.AudioSession1"
    /// The device of whoever wants none in particular.
    public static let automatic = "automatic"
    public static let claimInterface = "org.sordino.AudioSession1.Claim"
    /// Claims are the children of this object.
    static let claims = "\(path)/claim"
    static let errorPrefix = "org.sordino.AudioSession1.Error."

    /// Where the session bus is by these variables; `nil` where there is none.
    public static func address(in environment: [String: String]) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty {
            return address.hasPrefix("disabled:") ? nil : address
        }
        guard let directory = environment["XDG_RUNTIME_DIR"], !directory.isEmpty else { return nil }
        let socket = directory + "/bus"
        return access(socket, F_OK) == 0 ? "unix:path=\(addressEscaped(socket))" : nil
    }

    /// The path of a claim's object.
    static func path(ofClaim id: String) -> String { "\(claims)/\(id)" }

    /// The claim whose object has this path; `nil` for what is no claim's.
    static func claim(atPath path: String) -> ClaimID? {
        guard path.hasPrefix(claims + "/c"), let number = UInt64(path.dropFirst(claims.count + 2)) else { return nil }
        let id = ClaimID(number: number)
        return self.path(ofClaim: id.description) == path ? id : nil
    }

    /// The bytes that an address may have as they are; the others are written as `%xx`.
    private static func addressEscaped(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII, character.isLetter || character.isNumber || "-_/.\\*".contains(character) {
                result.append(character)
            } else {
                let digits = String(byte, radix: 16)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
    }
}
