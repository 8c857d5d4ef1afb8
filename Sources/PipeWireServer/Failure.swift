import AudioPolicy
import Glibc

func errorText(_ code: Int32) -> String { String(cString: strerror(code)) }

extension ServerFailure {
    /// From an `errno` value.
    init(errorNumber: Int32, message: String) {
        let code: Code =
            switch errorNumber {
            case ENOENT: .noEntity
            case EACCES, EPERM: .accessDenied
            default: .other
            }
        self.init(code, message)
    }

    /// Why a connection could not be made or is gone.
    init(connectionError: Int32, message: String) {
        switch connectionError {
        case EACCES, EPERM: self.init(.accessDenied, message)
        case ENOENT, ECONNREFUSED, EHOSTDOWN, EPIPE, ECONNRESET, ENOTCONN: self.init(.unavailable, message)
        default: self.init(.other, message)
        }
    }
}
