import SoundRig
import Synchronization

/// Where a task leaves its result for the thread that waits for it.
final class Outcome: Sendable {
    private let result = Mutex<Result<Bool, any Error>?>(nil)

    func set(_ value: Result<Bool, any Error>) { result.withLock { $0 = value } }

    func get() throws -> Bool {
        guard let value = result.withLock({ $0 }) else { throw SoundRigError("the demonstration was cut short") }
        return try value.get()
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
