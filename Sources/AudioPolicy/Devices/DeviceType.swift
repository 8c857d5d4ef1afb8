/// What a device is to its user: the vocabulary of `sordino devices`.
public enum DeviceType: String, CaseIterable, Hashable, Sendable {
    case speaker, receiver, wiredHeadset, wiredHeadphones, bluetooth, usb, hdmi, lineOut, network, virtual

    /// Whether a microphone nearby hears it.
    public var isLoudspeaker: Bool { self == .speaker }
}

extension DeviceType {
    /// Decides by the server's facts: the bus first where it says all, then the form factor, then the active port.
    public init(_ device: ServerDevice) {
        func property(_ names: String...) -> String {
            for name in names { if let value = device.properties[name], !value.isEmpty { return value.lowercased() } }
            return ""
        }
        let form = property("device.form_factor", "device.form-factor")
        let bus = property("device.bus")
        let port = device.activePort?.lowercased() ?? ""
        self =
            switch true {
            case bus == "bluetooth" || property("device.api").hasPrefix("bluez"): .bluetooth
            case form == "headset": .wiredHeadset
            case form == "headphone" || form == "headphones": .wiredHeadphones
            case form == "handset": .receiver
            case form == "speaker" || form == "internal" || form == "portable": .speaker
            case port.contains("headset"): .wiredHeadset
            case port.contains("headphone"): .wiredHeadphones
            case port.contains("earpiece") || port.contains("handset"): .receiver
            case port.contains("hdmi") || port.contains("displayport"): .hdmi
            case port.contains("speaker"): .speaker
            case port.contains("line"): .lineOut
            case bus == "usb": .usb
            case device.driver.contains("tunnel") || property("node.network") == "true": .network
            case bus == "pci" || !port.isEmpty: .speaker
            default: .virtual
            }
    }
}
