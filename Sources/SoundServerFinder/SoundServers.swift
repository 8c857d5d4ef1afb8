public import AudioPolicy
import PipeWireServer
import PulseAudioServer
public import SystemEventLoop

/// A connection that is not started yet, to wherever the library's own variables lead.
public func makeSoundServer(_ kind: ServerKind, _ loop: SystemEventLoop) -> any SoundServer {
    switch kind {
    case .pulseaudio: PulseAudioServer(loop: loop)
    case .pipewire: PipeWireServer(loop: loop)
    }
}
