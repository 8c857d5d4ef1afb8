import EventLoop

/// A stream that a claim's wish has taken to a device.
struct StreamRoute: Equatable {
    /// Where it is to be; `nil`: back where it was.
    var target: DeviceID?
    /// The device that it had of its own; `nil`: the default one, wherever that is.
    var back: DeviceID?
    /// Whether it has been at its target.
    var hasArrived = false
    /// Somebody else has moved it, or it cannot be moved: it is left where it is, until the wish is another one.
    var isLeft = false
    /// The batch of the last move, which a reading of the stream includes or not.
    var batch: UInt64 = 0
    /// PipeWire: until then its links come and go, and where it seems to be says nothing. `nil`: it has settled.
    var settlesAt: LoopInstant?
    /// How often it has been asked for.
    var attempts = 1
}
