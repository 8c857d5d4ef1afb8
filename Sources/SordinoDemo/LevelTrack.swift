/// The recorded levels of one part over a demonstration.
struct LevelTrack: Equatable, Sendable {
    let name: String
    let colour: String
    /// Decibels of amplitude, at equal distances.
    let levels: [Double]
}

/// All of them, with what happened when.
struct LevelHistory: Equatable, Sendable {
    struct Mark: Equatable, Sendable {
        let title: String
        /// Seconds from the start.
        let time: Double
    }

    var tracks: [LevelTrack]
    var marks: [Mark]
    /// Seconds between two levels.
    let interval: Double

    /// Seconds.
    var duration: Double { Double(tracks.map(\.levels.count).max() ?? 0) * interval }
}
