import AudioSession
import AudioSessionLinux
import Foundation
import VoiceMessages

/// Plays a file with `paplay`; what is stopped begins anew.
actor FileSound: VoiceMessageSound {
    private let path: String
    private var process: Process?

    init(path: String) { self.path = path }

    func start(for claim: AudioSessionClaim) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["paplay"] + claim.pulseAudioProperties.map { "--property=\($0.key)=\($0.value)" } + [path]
        do { try process.run() } catch { print("paplay: \(error)") }
        self.process = process
    }

    func stop() {
        process?.terminate()
        process = nil
    }

    func waitUntilEnd() async {
        while let process, process.isRunning { try? await Task.sleep(for: .milliseconds(100)) }
    }
}

guard let path = CommandLine.arguments.dropFirst().first else {
    print("usage: player FILE")
    exit(64)
}
let manager = AudioSessionManagerFactory.make(name: "Voice messages")
let sound = FileSound(path: path)
let player = VoiceMessagePlayer(audioSessionManager: manager, sound: sound)
do { try await player.play() } catch {
    print("the message is not played: \(error)")
    exit(69)
}
print(await manager.diagnostics())
await sound.waitUntilEnd()
await player.stop()
