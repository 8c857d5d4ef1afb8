import AudioPolicy
import DaemonTestSupport
import Foundation
import SessionBus
import SordinoDaemon
import Testing

@testable import SordinoCommand

@Suite struct OutputTests {
    @Test func `The status names server, winner, claims, streams with effect and cause, devices, ledger and warnings`()
    {
        let text = StatusText(.everything).text
        for part in [
            "PulseAudio 16.1, connected", "the winner is call of linphone (c3)", "linphone (process 4242)",
            "unranked, silent, not active", "40/100 %", "ducked by 20 dB, because of the call of linphone (c3)",
            "none: somebody undid it", "paused, muted", "plumbing", "(unnamed)", "Speakers", "会議 Headset",
            "not plugged in",
            "1 change to undo", "Warning   module-role-cork is loaded too",
        ] { #expect(text.contains(part), "\(part)") }
    }

    @Test func `A hostile name reaches no terminal`() {
        for text in [StatusText(.everything).text, EventText.line(event)] {
            #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
            #expect(!text.unicodeScalars.contains("\u{202E}"))
        }
        #expect(!EventText.line(event).contains("\n"))
    }

    private let event = SessionEvent(
        time: 0, event: .effectChanged, stream: SessionStatus.everything.streams[2], message: SessionStatus.hostileName)

    @Test func `An empty session is a few plain lines`() {
        let status = SessionStatus(
            server: .init(kind: nil, version: nil, connected: false), enabled: false,
            session: .init(state: "passive", winner: nil), claims: [], streams: [], devices: [],
            ledger: .init(entries: 0), warnings: [])
        #expect(
            StatusText(status).text == """
                Server    none yet; waiting for one
                Session   passive; no claim wins
                Effects   off; “sordino on” switches them on again

                Ledger    empty: nothing has to be undone

                """)
    }

    @Test func `Columns line up, also with wide letters`() {
        var table = TextTable("T", ["A", "B"])
        table.add("会議", "x")
        table.add("abc", "y")
        #expect(table.text == "\nT\n  A     B\n  会議  x\n  abc   y\n")
    }

    @Test(arguments: [
        (SessionEvent(time: 0, event: .winnerChanged), "no claim wins any more"),
        (SessionEvent(time: 0, event: .winnerChanged, winner: "c3"), "the winner is c3"),
        (
            SessionEvent(time: 0, event: .effectChanged, stream: SessionStatus.everything.streams[1]),
            "mpv (74) is ducked by 20 dB, because of c3"
        ),
        (
            SessionEvent(time: 0, event: .effectChanged, stream: SessionStatus.everything.streams[0]),
            "linphone (73) is back as it was"
        ),
        (
            SessionEvent(time: 0, event: .claimAcquired, claim: SessionStatus.everything.claims[0]),
            "call of linphone (c3) begins"
        ),
        (SessionEvent(time: 0, event: .serverLost, message: "killed"), "the sound server is gone: killed"),
        (
            SessionEvent(time: 0, event: .serverConnected, server: SessionStatus.everything.server),
            "connected to PulseAudio 16.1, connected"
        ),
    ])
    func `An event is one sentence with the time of day`(event: SessionEvent, sentence: String) {
        let line = EventText.line(event)
        #expect(line.dropFirst(10) == sentence)
        #expect(line.prefix(8).wholeMatch(of: /\d\d:\d\d:\d\d/) != nil)
    }
}
