import EventLoop

/// A stream that a claim's wish has taken to a device.
struct StreamRoute: Equatable {
    /// Where it is to be; `nil`: back where it was.
    var target: DeviceID?
    /// The device that it had of its own; `nil`: the default one, wherever that is.
    var back: DeviceID?
    /// Whether the server has shown it at its target.
    var hasArrived = false
    /// Somebody else has moved it: it is theirs, until the wish is another one.
    var isLeft = false
    /// PipeWire: until then its links come and go, and where it seems to be says nothing. `nil`: it has settled.
    var settlesAt: LoopInstant?
    /// How often it has been asked for.
    var attempts = 1
}
