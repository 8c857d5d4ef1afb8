import AudioPolicy
import DaemonTestSupport
import Testing

@testable import SordinoCommand

@Suite struct ShownTextTests {
    @Test(arguments: [
        ("mpv", "mpv"),
        ("Ünïcødé 会議 🎧", "Ünïcødé 会議 🎧"),
        ("a\u{1B}[31mb", "a\\u{1B}[31mb"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("a\u{0}b\u{7F}\u{9B}", "a\\u{0}b\\u{7F}\\u{9B}"),
        ("\u{202E}gpj.exe", "\\u{202E}gpj.exe"),
        ("zero\u{200B}width\u{FEFF}", "zero\\u{200B}width\\u{FEFF}"),
        ("\u{2066}iso\u{2069}", "\\u{2066}iso\\u{2069}"),
        ("tag\u{E0041}", "tag\\u{E0041}"),
        ("line\u{2028}para\u{2029}", "line\\u{2028}para\\u{2029}"),
        ("no\u{A0}break", "no\\u{A0}break"),
        ("filler\u{3164}", "filler\\u{3164}"),
        ("private\u{E000}", "private\\u{E000}"),
        ("back\\slash", "back\\\\slash"),
        ("e\u{301}", "e\u{301}"),
        ("", ""),
    ])
    func `What acts instead of showing itself is written out`(text: String, shown: String) {
        #expect(text.shown() == shown)
    }

    @Test func `Invalid UTF-8 is replaced and shown`() {
        let text = String(decoding: [0x61, 0xFF, 0xC0, 0x62] as [UInt8], as: UTF8.self)
        #expect(text.shown() == "a\u{FFFD}\u{FFFD}b")
    }

    @Test func `Long text is cut with a mark, however it is made`() {
        #expect(String(repeating: "x", count: 64).shown() == String(repeating: "x", count: 64))
        #expect(String(repeating: "x", count: 65).shown() == String(repeating: "x", count: 63) + "…")
        #expect(String(repeating: "x", count: 65).shown(limit: 3) == "xx…")
        #expect(String(repeating: "\u{1B}", count: 1000).shown().unicodeScalars.count <= 64)
        #expect(("e" + String(repeating: "\u{301}", count: 100_000)).shown().unicodeScalars.count <= 70)
        #expect("x".shown(limit: 0) == "")
    }

    @Test func `Random text never shows anything that acts`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            let shown = String(decoding: bytes, as: UTF8.self).shown(limit: 20)
            #expect(shown.count <= 20)
            for scalar in shown.unicodeScalars {
                switch scalar.properties.generalCategory {
                case .control, .format, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                    Issue.record("\(bytes) shows U+\(String(scalar.value, radix: 16))")
                default: break
                }
            }
        }
    }
}
