import AudioPolicy
import AudioSessionTestHelper
import Glibc
import Testing

/// `SORDINO_SEED=n` replays one run; the seeds of fresh ones are printed.
struct RandomTests {
    static let seeds: [UInt64] = {
        if let text = getenv("SORDINO_SEED"), let seed = UInt64(String(cString: text)) { return [seed] }
        var system = SystemRandomNumberGenerator()
        let count = getenv("SORDINO_RUNS").flatMap { Int(String(cString: $0)) } ?? 1
        return [1, 2] + (0..<count).map { _ in system.next(upperBound: 1_000_000_000) }
    }()

    @Test(arguments: bothKinds, seeds)
    func `whatever happens, in the end everything is as its user left it`(kind: ServerKind, seed: UInt64) {
        print("random run on \(kind.rawValue): SORDINO_SEED=\(seed)")
        let run = RandomRun(kind, seed: seed)
        run.live(3000)
        #expect(run.faults.isEmpty, "\(run.faults.first ?? "")")
    }
}
