import CPipeWire

/// Reading and writing of `Props` objects.
enum NodeProps {
    /// More channels than this no server version handles.
    static let maximumChannels = 64

    static func read(_ pod: UnsafePointer<spa_pod>) -> SoftGainState.Snapshot? {
        guard cpw_is_object(pod) else { return nil }
        return SoftGainState.Snapshot(
            volumes: floats(pod, SPA_PROP_channelVolumes), isMuted: bool(pod, SPA_PROP_mute) ?? false,
            softVolumes: floats(pod, SPA_PROP_softVolumes), isSoftMuted: bool(pod, SPA_PROP_softMute) ?? false,
            gain: float(pod, SPA_PROP_volume) ?? 1)
    }

    static func setSoft(_ node: OpaquePointer, volumes: [Float], isMuted: Bool) -> Int32 {
        write(to: node) { builder in
            spa_pod_builder_prop(&builder, SPA_PROP_softVolumes.rawValue, 0)
            volumes.withUnsafeBytes { bytes in
                _ = spa_pod_builder_array(
                    &builder, UInt32(MemoryLayout<Float>.size), UInt32(SPA_TYPE_Float), UInt32(volumes.count),
                    bytes.baseAddress)
            }
            spa_pod_builder_prop(&builder, SPA_PROP_softMute.rawValue, 0)
            spa_pod_builder_bool(&builder, isMuted)
        }
    }

    static func setMute(_ node: OpaquePointer, _ isMuted: Bool) -> Int32 {
        write(to: node) { builder in
            spa_pod_builder_prop(&builder, SPA_PROP_mute.rawValue, 0)
            spa_pod_builder_bool(&builder, isMuted)
        }
    }

    static func setGain(_ node: OpaquePointer, _ gain: Float) -> Int32 {
        write(to: node) { builder in
            spa_pod_builder_prop(&builder, SPA_PROP_volume.rawValue, 0)
            spa_pod_builder_float(&builder, gain)
        }
    }

    /// Returns the sequence number that an error would name.
    private static func write(to node: OpaquePointer, _ body: (inout spa_pod_builder) -> Void) -> Int32 {
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
            var builder = spa_pod_builder()
            spa_pod_builder_init(&builder, buffer.baseAddress, UInt32(buffer.count))
            var frame = spa_pod_frame()
            spa_pod_builder_push_object(&builder, &frame, UInt32(SPA_TYPE_OBJECT_Props), SPA_PARAM_Props.rawValue)
            body(&builder)
            guard let pod = spa_pod_builder_pop(&builder, &frame) else { return -1 }
            return cpw_node_set_param(node, SPA_PARAM_Props.rawValue, 0, pod.assumingMemoryBound(to: spa_pod.self))
        }
    }

    // MARK: Values

    /// A program may put anything into its own `Props`: what is no gain counts as silence.
    private static func floats(_ pod: UnsafePointer<spa_pod>, _ key: spa_prop) -> [Float] {
        guard let value = cpw_prop(pod, key.rawValue) else { return [] }
        return [Float](unsafeUninitializedCapacity: maximumChannels) { buffer, count in
            count = Int(cpw_copy_floats(value, buffer.baseAddress, UInt32(maximumChannels)))
            for index in 0..<count where !(buffer[index].isFinite && buffer[index] >= 0) { buffer[index] = 0 }
        }
    }

    private static func float(_ pod: UnsafePointer<spa_pod>, _ key: spa_prop) -> Float? {
        var result: Float = 0
        guard let value = cpw_prop(pod, key.rawValue), spa_pod_get_float(value, &result) == 0 else { return nil }
        return result.isFinite ? result : nil
    }

    private static func bool(_ pod: UnsafePointer<spa_pod>, _ key: spa_prop) -> Bool? {
        var result = false
        guard let value = cpw_prop(pod, key.rawValue), spa_pod_get_bool(value, &result) == 0 else { return nil }
        return result
    }
}
