import AudioPolicy
import Testing

@testable import PipeWireServer

@Test func placeholder() {}
