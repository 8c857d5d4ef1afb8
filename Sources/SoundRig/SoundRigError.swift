/// Why a player or a meter did not do what was asked.
public struct SoundRigError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
