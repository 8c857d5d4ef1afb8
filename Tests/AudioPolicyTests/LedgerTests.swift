@testable import AudioPolicy
import AudioSessionTestHelper
import Testing

struct LedgerTests {
    static let hostile = [
        "", "-", "%", "a b", "line\nbreak", "\r\n", "tab\t", "\u{0}", "ü€😀", "100%", "%41", "\u{202E}evil", " leading",
        "sink-input-by-media-role:music", String(repeating: "x", count: 5000),
    ]

    @Test(arguments: hostile)
    func `hostile text comes back as it was`(text: String) {
        let entry = RestoreEntry(key: text, volume: [0.25, 1], channelMap: text, isMuted: true, device: text)
        let records: [LedgerRecord] = [
            .server(.pulseaudio, instance: text),
            .baseline(StreamID(.output, 7), volume: [0.1, .leastNonzeroMagnitude], isMuted: true, restoreKey: text),
            .stored(key: text, entry: entry), .stored(key: text, entry: nil),
            .storedVolume(key: text, [1.0 / 3]), .storedBaseline(key: text, []), .storedMute(key: text, true),
            .storedDone(key: text), .unloaded(ForeignPolicy(name: text, arguments: text)), .loaded(name: text),
        ]
        for record in records {
            let line = record.line
            #expect(line.utf8.filter { $0 == 0x0A }.count == 1 && line.utf8.last == 0x0A)
            #expect(LedgerRecord(line: line.dropLast()) == record)
        }
    }

    @Test func `numbers come back to the bit`() {
        var generator = SplitMix(7)
        for _ in 0..<2000 {
            let volume = (0..<Int.random(in: 0...8, using: &generator)).map { _ in Double.random(in: 0...10, using: &generator) }
            let records: [LedgerRecord] = [
                .volume(StreamID(.input, generator.next()), volume), .mute(StreamID(.output, 1), false),
                .soft(StreamID(.output, 2)), .pause(StreamID(.output, 3)), .done(StreamID(.input, 4)),
                .seen(StreamID(.output, 5)),
                .baseline(StreamID(.output, 6), volume: volume, isMuted: false, restoreKey: nil),
            ]
            for record in records { #expect(LedgerRecord(line: record.line.dropLast()) == record) }
        }
    }

    @Test func `half a last line is nothing, wherever it was cut`() {
        let whole = "I pulseaudio a\nB output 12 0 0.5,0.25 key\nW output 12 0.125,0.0625\n"
        let last = LedgerRecord.done(StreamID(.output, 12)).line
        for count in 0..<last.count {
            let ledger = Ledger(reading: whole + last.prefix(count))
            #expect(ledger.streams[StreamID(.output, 12)]?.written == [[0.125, 0.0625]])
        }
        #expect(Ledger(reading: whole + last).streams.isEmpty)
        // Half a number is another number.
        let cut = Ledger(reading: "I pulseaudio a\nB output 12 0 1 key\nW output 12 0.1")
        #expect(cut.streams[StreamID(.output, 12)]?.written == [])
    }

    @Test func `garbage is skipped, and nothing loud comes of it`() {
        let lines = [
            "nonsense", "B", "B output x 0 1 -", "B sideways 1 0 1 -", "B output 1 2 1 -", "B output 2 0 nan -",
            "B output 3 0 inf -", "B output 4 0 -1 -", "B output 5 0 1e9 -", "B output 6 0 1,,1 -", "W output 99 1",
            "M output 1 yes", "I jack 1", "\u{0}\u{0}", "F", "D output", "G output 18446744073709551616",
            "B output 7 0 1 - more",
        ]
        let ledger = Ledger(reading: lines.joined(separator: "\n") + "\n")
        #expect(ledger.isEmpty && ledger.server == nil)
    }

    @Test func `random bytes never crash it`() {
        var generator = SplitMix(11)
        let alphabet = Array("IBWMGPDSFULXVNR output input 0123456789.,-%\n".unicodeScalars)
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<200 {
                if let scalar = alphabet.randomElement(using: &generator) { text.unicodeScalars.append(scalar) }
            }
            let ledger = Ledger(reading: text)
            #expect(ledger.streams.values.allSatisfy { $0.volume.allSatisfy { $0 <= 1000 } })
        }
    }

    @Test func `a rewritten ledger says the same as the lines that it replaces`() {
        let memory = MemoryLedger()
        let store = MemoryLedgerStore(memory)
        var ledger = Ledger()
        ledger.begin(.pulseaudio, instance: "run", keepingStreams: false)
        let entry = RestoreEntry(key: "k", volume: [1, 1], channelMap: "front-left,front-right", isMuted: false, device: nil)
        ledger.append(.stored(key: "k", entry: entry))
        ledger.append(.seen(StreamID(.output, 9)))
        for serial in [UInt64(1), 2] {
            let id = StreamID(.output, serial)
            ledger.append(.baseline(id, volume: [0.5, 0.5], isMuted: false, restoreKey: "k"))
            ledger.append(.volume(id, [0.05 * Double(serial), 0.05]))
            ledger.append(.mute(id, true))
        }
        ledger.append(.done(StreamID(.output, 1)))
        ledger.append(.unloaded(ForeignPolicy(name: "module-role-cork", arguments: "a=b c")))
        ledger.flush(to: store)
        let again = Ledger(reading: store.text)
        #expect(again.streams == ledger.streams && again.stored == ledger.stored && again.seen == ledger.seen)
        #expect(again.unloaded == ledger.unloaded && again.server?.instance == "run")
        #expect(again.stored["k"]?.written.count == 2 && again.stored["k"]?.mutes == [true])
    }

    @Test func `a ledger with nothing left to undo is empty, and says again which server it is about`() {
        let memory = MemoryLedger()
        let store = MemoryLedgerStore(memory)
        var ledger = Ledger()
        ledger.begin(.pulseaudio, instance: "run", keepingStreams: false)
        let id = StreamID(.output, 1)
        ledger.append(.baseline(id, volume: [1], isMuted: false, restoreKey: nil))
        ledger.flush(to: store)
        ledger.append(.done(id))
        ledger.flush(to: store)
        #expect(memory.text.isEmpty)
        ledger.append(.baseline(id, volume: [1], isMuted: false, restoreKey: nil))
        ledger.flush(to: store)
        #expect(Ledger(reading: memory.text).server?.instance == "run")
        #expect(Ledger(reading: memory.text).streams[id] != nil)
    }

    @Test func `another run of the server has none of the streams, and all of the stored values`() {
        var ledger = Ledger(reading: "I pulseaudio a\nS k\nB output 1 0 1 k\nU module x\n")
        ledger.begin(.pulseaudio, instance: "b", keepingStreams: false)
        #expect(ledger.streams.isEmpty && ledger.unloaded.isEmpty && ledger.stored.keys.contains("k"))
    }
}
