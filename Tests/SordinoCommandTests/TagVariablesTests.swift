import AudioSession
import Testing

@testable import SordinoCommand

@Suite struct TagVariablesTests {
    @Test(arguments: [
        ("", #"media.role="phone" sordino.claim=":1.7/call""#),
        ("  \n", #"media.role="phone" sordino.claim=":1.7/call""#),
        (#"a.b="c d""#, #"a.b="c d" media.role="phone" sordino.claim=":1.7/call""#),
    ])
    func `PULSE_PROP is what the user has in it, and the tag`(own: String, whole: String) {
        let variables = TagVariables.variables(.call, connection: ":1.7", in: ["PULSE_PROP": own])
        #expect(variables["PULSE_PROP"] == whole)
    }

    @Test(arguments: [
        "", "{}", " { } ",
    ])
    func `PIPEWIRE_PROPS without the user's own is the tag alone`(own: String) {
        let variables = TagVariables.variables(.playback, connection: ":1.7", in: ["PIPEWIRE_PROPS": own])
        #expect(
            variables["PIPEWIRE_PROPS"]
                == #"{ media.category = "Playback" media.role = "Music" sordino.claim = ":1.7/playback" }"#)
    }

    @Test(arguments: ["x.y = 3 # why", "{ x.y = 3 # why }", "{ x.y = 3 # why\n }", "x.y=3"])
    func `PIPEWIRE_PROPS keeps the user's own, and a comment in it ends before the tag`(own: String) throws {
        let variables = TagVariables.variables(.game, connection: ":1.7", in: ["PIPEWIRE_PROPS": own])
        let lines = try #require(variables["PIPEWIRE_PROPS"]).split(separator: "\n")
        #expect(lines.first?.hasPrefix("{") == true && lines.first?.contains("x.y") == true)
        #expect(lines.last == #"media.category = "Playback" media.role = "Game" sordino.claim = ":1.7/game" }"#)
    }

    @Test func `Quotes and backslashes in a value are escaped for both`() {
        let value = ["k": #"a"b\c"#]
        #expect(TagVariables.pulseAudio(value, after: "") == #"k="a\"b\\c""#)
        #expect(TagVariables.pipeWire(value, after: "") == #"{ k = "a\"b\\c" }"#)
    }
}
