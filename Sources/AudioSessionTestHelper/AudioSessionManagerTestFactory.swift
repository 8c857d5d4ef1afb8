public import AudioSession

/// The real manager over a mock driver: use it where what is tested follows from arbitration.
public enum AudioSessionManagerTestFactory {
    /// - Parameter defaultDriver: records what the manager applies, and speaks for the system. One manager's alone.
    public static func make(
        defaultDriver: MockAudioSessionDriver = MockAudioSessionDriver()
    ) -> any AudioSessionManagerProtocol & CallControlProtocol {
        let manager = AudioSessionManager(
            driver: defaultDriver, owner: ClaimOwner(name: "test"), on: TaskPoolExecutor())
        defaultDriver.setManager(manager)
        return manager
    }
}
