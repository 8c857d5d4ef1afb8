import Foundation

/// Whether a condition comes true within ten seconds.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(10)
    while try !condition() {
        if ContinuousClock.now > deadline { return false }
        usleep(5000)
    }
    return true
}
