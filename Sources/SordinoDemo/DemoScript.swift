import HeadlessAudio

/// Who plays in the demonstration, and when.
enum DemoScript {
    struct Part: Equatable, Sendable {
        let name: String
        /// In Hz; what the meter tells it by.
        let frequency: Double
        /// Linear.
        var amplitude = 0.1
        let properties: [String: String]
        /// Where it is in the plot.
        let colour: String
    }

    static let music = Part(
        name: "Music", frequency: 600, properties: ["media.role": "music"], colour: "#2a78c8")
    static let game = Part(
        name: "Game", frequency: 1200, amplitude: 0.06, properties: ["media.role": "game"], colour: "#2f9e5b")
    static let call = Part(
        name: "Call", frequency: 1800, properties: ["media.role": "phone"], colour: "#d2691e")
    static let alarm = Part(
        name: "Alarm", frequency: 2400,
        properties: ["media.role": "event", "event.id": "alarm-clock-elapsed"], colour: "#b03060")

    static let parts = [music, game, call, alarm]

    /// One scene, after which the table is shown.
    struct Scene: Sendable {
        let title: String
        var begins: [Part] = []
        var ends: [Part] = []
        let seconds: Double
    }

    static let scenes = [
        Scene(title: "Music and a game play", begins: [music, game], seconds: 2.5),
        Scene(title: "A call comes in", begins: [call], seconds: 3.5),
        Scene(title: "The call ends", ends: [call], seconds: 3),
        Scene(title: "An alarm rings", begins: [alarm], seconds: 3),
        Scene(title: "The alarm is switched off", ends: [alarm], seconds: 3),
    ]
}
