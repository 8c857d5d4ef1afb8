import AudioPolicy
import AudioSession
import Foundation
import Testing

@testable import AudioPolicyConfiguration

@Suite struct StreamDumpTests {
    private let settings = RealProgramsTests.settings

    private func classified(_ text: String) throws -> [ClassifiedStream] {
        try StreamDump(text: text).classified(file: "x", settings: settings)
    }

    /// One stream as pactl prints it.
    private func stream(
        _ index: Int, device: String, _ properties: [String: String], client: String = "\"7\"",
        driver: String = "protocol-native.c"
    ) throws -> String {
        let json = String(decoding: try JSONEncoder().encode(properties), as: UTF8.self)
        return
            "{\"index\":\(index),\"driver\":\"\(driver)\",\"client\":\(client),\(device),\"resample_method\":\"copy\",\"properties\":\(json)}"
    }

    @Test func `the output of pactl for one list is enough`() throws {
        let music = try stream(3, device: "\"sink\":0", ["application.name": "mpv", "media.role": "music"])
        let bell = try stream(1, device: "\"sink\":0", ["media.role": "event"])
        let outputs = try classified("[\(music),\(bell)]")
        #expect(outputs.map(\.index) == [3, 1])
        #expect(outputs.map(\.kind) == ["mediaPlayback", "ambient"])
        #expect(outputs.map(\.classifiedBy) == ["role", "role"])
        let inputs = try classified("[\(try stream(5, device: "\"source\":1", ["application.name": "rec"]))]")
        #expect(inputs.map(\.direction) == ["input"])
        #expect(inputs.map(\.kind) == ["recording"])
        #expect(inputs.map(\.capture) == ["microphone"])
    }

    @Test func `the whole of pactl's list knows monitors by their names`() throws {
        let recorder = try stream(5, device: "\"source\":2", ["application.name": "rec"])
        let text =
            "{\"sink_inputs\":[],\"sources\":[{\"index\":2,\"name\":\"spk.monitor\",\"properties\":{}}],\"source_outputs\":[\(recorder)]}"
        #expect(try classified(text).map(\.capture) == ["monitor"])
    }

    @Test func `a line has exactly the contract's keys, null where there is nothing`() throws {
        let module = try stream(9, device: "\"sink\":0", [:], client: "null", driver: "module-loopback.c")
        let line = try JSONEncoder().encode(try #require(try classified("[\(module)]").first))
        let object = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
        #expect(Set(object.keys) == ["file", "direction", "index", "kind", "plumbing", "capture", "classifiedBy"])
        #expect(object["kind"] is NSNull)
        #expect(object["capture"] is NSNull)
        #expect(object["plumbing"] as? Bool == true)
    }

    @Test func `a tool that a speech program has started speaks`() throws {
        let player = try stream(
            1, device: "\"sink\":0",
            [
                "application.process.id": "30", "application.process.binary": "aplay",
                "application.name": "ALSA plug-in [aplay]",
            ])
        let chain =
            "[[{\"comm\":\"aplay\",\"pid\":30},{\"comm\":\"sh\",\"pid\":20},{\"comm\":\"festival\",\"pid\":10}]]"
        #expect(try classified("{\"sinkInputs\":[\(player)],\"processChains\":\(chain)}").map(\.kind) == ["speech"])
        #expect(try classified("{\"sinkInputs\":[\(player)]}").map(\.kind) == ["mediaPlayback"])
    }

    @Test(arguments: [
        "", "[", "{}", "3", "\"x\"", "[3]", "[{\"a\":1}]", "{\"sinkInputs\":[", "not json at all", "{\"x\":[]}",
    ])
    func `what is no dump is an error with a line`(text: String) {
        #expect(throws: StreamDump.FormatError.self) { try classified(text) }
    }

    @Test func `an empty list has no streams`() throws {
        #expect(try classified("[]").isEmpty)
        #expect(try classified("{\"sinkInputs\":[]}").isEmpty)
    }

    @Test func `properties that are empty, huge, not text or full of control characters are read`() throws {
        let huge = String(repeating: "x", count: 200_000)
        let text =
            "[{\"index\":1,\"sink\":0,\"client\":\"1\",\"properties\":{\"application.name\":\"a\u{1}\u{7f}\u{1b}\",\"media.role\":\"\",\"media.name\":\"\(huge)\",\"x\":\"\u{FFFD}\"}}]"
        #expect(try classified(text).map(\.kind) == ["mediaPlayback"])
        let bytes =
            Array("[{\"index\":1,\"sink\":0,\"properties\":{\"media.name\":\"".utf8) + [0xff, 0xfe, 0xc3]
            + Array("\"}}]".utf8)
        #expect(try classified(String(decoding: bytes, as: UTF8.self)).count == 1)
    }

    @Test func `a file that is not there is an error, not a crash`() {
        #expect(throws: StreamDump.FormatError.self) { try classifyDump("/nonexistent/dump.json") }
    }
}

/// Programs beyond the fixtures, by the properties that they are known to set.
@Suite struct KnownProgramsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var properties: [String: String]
        var isInput = false
        var withMicrophone = false
        var kind: String

        var testDescription: String {
            name + (isInput ? " (capture)" : "") + (withMicrophone ? " beside a capture" : "")
        }
    }

    static func app(
        _ name: String, _ binary: String, role: String? = nil, media: String? = nil, id: String? = nil,
        input: Bool = false, microphone: Bool = false, _ kind: String
    ) -> Case {
        var properties = ["application.name": name, "application.process.binary": binary]
        properties["media.role"] = role
        properties["media.name"] = media
        properties["application.id"] = id
        return Case(name: binary, properties: properties, isInput: input, withMicrophone: microphone, kind: kind)
    }

    static let cases: [Case] = [
        // speech
        app("eSpeak", "espeak-ng", media: "Text-to-Speech", "speech"), app("ALSA plug-in [flite]", "flite", "speech"),
        app("ALSA plug-in [festival]", "festival", "speech"),
        app("speech-dispatcher-espeak-ng", "sd_espeak-ng", "speech"),
        app("speech-dispatcher-rhvoice", "sd_rhvoice", "speech"),
        app("speech-dispatcher-generic", "speech-dispatcher", "speech"),
        app("orca", "python3.11", "speech"), app("Orca", "python3.12", media: "Playback Stream", "speech"),
        app("piper", "piper", "speech"), app("mimic", "mimic3", "speech"),
        // voices
        app("WEBRTC VoiceEngine", "Discord", media: "playStream", "groupCall"),
        app("WEBRTC VoiceEngine", "Discord", media: "recStream", input: true, "groupCall"),
        app("ZOOM VoiceEngine", "zoom", media: "playStream", "groupCall"),
        app("Chromium", "slack", media: "Playback", microphone: true, "groupCall"),
        app("Chromium", "teams-for-linux", media: "Playback", microphone: true, "groupCall"),
        app("Google Chrome", "chrome", media: "Playback", microphone: true, "groupCall"),
        app("telegram-desktop", "telegram-desktop", media: "Playback Stream", microphone: true, "groupCall"),
        app("TeamSpeak3", "ts3client_linux_amd64", "groupCall"),
        app("Jami", "jami", role: "phone", microphone: true, "call"),
        app("linphone", "linphone", microphone: true, "call"), app("linphonec", "linphonec", media: "phone", "alarm"),
        app("ALSA plug-in [twinkle]", "twinkle", microphone: true, "call"),
        app("ALSA plug-in [twinkle]", "twinkle", "alarm"),
        // workstations and recorders
        app("ALSA plug-in [audacity]", "audacity", microphone: true, "mediaPlayback"),
        app("ALSA plug-in [audacity]", "audacity", input: true, "recording"),
        app("OBS", "obs", media: "Audio Monitor", microphone: true, "mediaPlayback"),
        app("Ardour", "ardour-7.3.0", microphone: true, "mediaPlayback"),
        app("LMMS", "lmms", microphone: true, "mediaPlayback"),
        app("REAPER", "reaper", input: true, microphone: true, "recording"),
        app("GNOME Sound Recorder", "gjs", input: true, "recording"),
        // alarms and events
        app("GNOME Clocks", "gnome-clocks", role: "event", "alarm"), app("KAlarm", "kalarm", role: "music", "alarm"),
        app("KTeaTime", "kteatime", role: "event", "alarm"), app("x", "x", role: "alarm", "alarm"),
        app("paplay", "pacat", media: "/usr/share/sounds/freedesktop/stereo/bell.oga", "ambient"),
        app("paplay", "pacat", media: "/usr/share/sounds/freedesktop/stereo/alarm-clock-elapsed.oga", "alarm"),
        app("plasmashell", "plasmashell", role: "event", "ambient"), app("gnome-shell", "gnome-shell", "ambient"),
        // players
        app("Spotify", "spotify", media: "Spotify", "mediaPlayback"),
        app("Rhythmbox", "rhythmbox", role: "music", "mediaPlayback"),
        app("Strawberry", "strawberry", role: "music", "mediaPlayback"), app("Kodi", "kodi.bin", "mediaPlayback"),
        app("Brave", "brave", media: "Playback", "mediaPlayback"),
        app("Firefox", "firefox", media: "A page", "mediaPlayback"),
        app("SDL Application", "ffplay", role: "Game", "mediaPlayback"), app("Steam", "steam", "mediaPlayback"),
        // games
        app("SDL Application", "neverball", role: "Game", "game"), app("RetroArch", "retroarch", "game"),
    ]

    @Test(arguments: cases)
    func `a program that is known to say little or to lie is taken for what it is`(item: Case) throws {
        var graph = ServerGraph()
        func add(_ id: StreamID, _ properties: [String: String]) {
            var stream = ServerStream(id: id, properties: properties)
            stream.client = 1
            stream.driver = "protocol-native.c"
            stream.device = DeviceID(id.direction, 0)
            graph.streams[id] = stream
        }
        let id = StreamID(item.isInput ? .input : .output, 1)
        add(id, item.properties)
        if item.withMicrophone {
            var properties = item.properties
            properties["media.role"] = nil
            properties["media.name"] = "RecordStream"
            add(StreamID(.input, 2), properties)
        }
        struct Nobody: ProcessInspector {
            let userID: UInt32 = 1000
            func facts(of pid: Int32) -> ProcessFacts? { nil }
        }
        let classifier = StreamClassifier(settings: RealProgramsTests.settings, processes: Nobody())
        _ = classifier.reset(graph: graph, kind: .pulseaudio)
        #expect(classifier[id]?.kind?.rawValue == item.kind, "\(String(describing: classifier[id]?.source))")
    }

    @Test(arguments: [
        "com.github.wwmm.easyeffects", "com.github.wwmm.pulseeffects.sinkinputs", "me.timschneeberger.jdsp4linux",
    ])
    func `an effects program's own streams are plumbing`(id: String) {
        var graph = ServerGraph()
        var stream = ServerStream(
            id: StreamID(.output, 1), properties: ["application.id": id, "application.name": "JamesDSP"])
        stream.client = 1
        graph.streams[stream.id] = stream
        struct Nobody: ProcessInspector {
            let userID: UInt32 = 1000
            func facts(of pid: Int32) -> ProcessFacts? { nil }
        }
        let classifier = StreamClassifier(settings: RealProgramsTests.settings, processes: Nobody())
        _ = classifier.reset(graph: graph, kind: .pipewire)
        #expect(classifier[stream.id]?.isPlumbing == true)
    }
}
