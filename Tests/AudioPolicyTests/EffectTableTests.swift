@testable import AudioPolicy
import AudioSession
import Testing

struct EffectTableTests {
    /// The design's table: holder, then victims in the order of the columns.
    static let rows: [(AudioSessionClientKind, [Effect])] = {
        let minimum = Effect.duck(Decibels(-6))
        let normal = Effect.duck(Decibels(-14))
        let medium = Effect.duck(Decibels(-20))
        return [
            (.alarm, [.none, normal, normal, normal, .none, .none, minimum, minimum]),
            (.call, [.none, .pause, medium, normal, .none, .none, .none, .none]),
            (.groupCall, [.none, normal, minimum, minimum, .none, .none, .none, .none]),
            (.recording, [.none, .pause, medium, medium, .none, .none, .none, .none]),
            (.speech, [.none, normal, normal, minimum, .none, .none, .none, .none]),
            (.playback, [.none, .none, normal, minimum, .none, .none, .none, .none]),
            (.ambient, [Effect](repeating: .none, count: 8)),
            (.mediaPlayback, [Effect](repeating: .none, count: 8)),
            (.game, [Effect](repeating: .none, count: 8)),
        ]
    }()
    static let victims: [AudioSessionClientKind] = [
        .ambient, .playback, .mediaPlayback, .game, .speech, .recording, .groupCall, .call,
    ]

    @Test(arguments: rows)
    func `each row is the design's`(holder: AudioSessionClientKind, effects: [Effect]) {
        let table = EffectTable()
        for (victim, effect) in zip(Self.victims, effects) {
            #expect(table.effect(of: holder, on: victim) == effect, "\(holder) on \(victim)")
        }
        #expect(table.effect(of: holder, on: .alarm) == .none)
    }

    @Test func `a named level changes the cells that name it`() {
        var table = EffectTable()
        table.levels[.medium] = Decibels(-26)
        #expect(table.effect(of: .call, on: .mediaPlayback) == .duck(Decibels(-26)))
        table.cells[.call]?[.mediaPlayback] = .decibels(Decibels(-3))
        #expect(table.effect(of: .call, on: .mediaPlayback) == .duck(Decibels(-3)))
    }

    @Test func `CFG-04 20 dB are a tenth of the amplitude`() {
        #expect(abs(Decibels(-20).factor - 0.1) < 1e-12)
        #expect(Decibels(0).factor == 1)
    }

    @Test func `the order of strength is none, ducks by depth, mute, pause`() {
        let order: [Effect] = [
            .none, .duck(Decibels(-1)), .duck(Decibels(-6)), .duck(Decibels(-35)), .mute, .pause,
        ]
        for (i, a) in order.enumerated() {
            for (j, b) in order.enumerated() { #expect(a.isStronger(than: b) == (i > j), "\(a) \(b)") }
        }
    }

    @Test func `what stands in for a pause is the holder's level on music, or the default one`() {
        let table = EffectTable()
        #expect(table.duckInstead(of: .call, on: .playback) == Decibels(-20))
        var all = EffectTable()
        all.cells[.call]?[.mediaPlayback] = .pause
        #expect(all.duckInstead(of: .call, on: .mediaPlayback) == Decibels(-14))
    }
}
