import Testing

@testable import SordinoDemo

@Suite struct PlotTests {
    private let history = LevelHistory(
        tracks: [
            LevelTrack(
                name: "Music", colour: "#123",
                levels: Array(repeating: -20, count: 40) + Array(repeating: -40, count: 40)
                    + Array(repeating: -20, count: 20)),
            LevelTrack(
                name: "Call", colour: "#456",
                levels: Array(repeating: -200, count: 40) + Array(repeating: -20, count: 40)
                    + Array(repeating: -200, count: 20)),
        ],
        marks: [.init(title: "Music", time: 0), .init(title: "A call & a beep", time: 2)], interval: 0.05)

    @Test func `the text plot shows each part's level where it changes`() {
        let lines = TextPlot(history: history, columns: 10, rows: 2).lines()
        #expect(
            lines == [
                "Music   │████    ██", "        │████▅▅▅▅██",
                "Call    │    ████  ", "        │    ████  ",
                "        └┬───┬─────", "         0.0 2.0 s",
            ])
    }

    @Test func `a history without sound is drawn empty`() {
        let empty = LevelHistory(
            tracks: [LevelTrack(name: "Music", colour: "#123", levels: [])], marks: [], interval: 0.05)
        let lines = TextPlot(history: empty, columns: 4, rows: 1).lines()
        #expect(lines == ["Music   │    ", "        └────", "         "])
    }

    @Test func `the image has a curve for each part and escapes its words`() {
        let text = VectorPlot(history: history, title: "a < b").text()
        #expect(text.contains("A call &amp; a beep"))
        #expect(text.contains("a &lt; b"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("<polyline") } == 2)
        #expect(text.hasSuffix("</svg>\n"))
    }

    @Test(arguments: [(-20.04, "−20.0 dB"), (-0.01, "0.0 dB"), (-90, "silent"), (3.25, "3.3 dB")])
    func `levels are shown with one decimal`(level: Double, text: String) {
        #expect(levelText(level) == text)
    }
}
