import CSystemd

/// What an object has on one interface: its methods, properties and signals, in the form that sd-bus keeps a pointer to.
/// Introspection, type checks, `Get` and `GetAll`, and the errors for what is unknown come from it.
///
/// Lives as long as the object is registered.
final class BusTable {
    typealias Method = sd_bus_message_handler_t
    typealias Getter = sd_bus_property_get_t

    enum Row {
        /// `names`: of the arguments, then of the results, each ended by `\0`.
        case method(StaticString, takes: StaticString, gives: StaticString, names: StaticString, Method)
        case property(StaticString, StaticString, Getter)
        case signal(StaticString, StaticString, names: StaticString)
    }

    let rows: UnsafeMutablePointer<sd_bus_vtable>

    init(_ contents: [Row]) {
        rows = .allocate(capacity: contents.count + 2)
        sordino_vtable_start(rows)
        for (index, row) in contents.enumerated() {
            let place = rows + index + 1
            switch row {
            case .method(let member, let takes, let gives, let names, let handler):
                sordino_vtable_method(place, member.text, takes.text, gives.text, names.text, handler)
            case .property(let member, let type, let getter):
                sordino_vtable_property(place, member.text, type.text, getter)
            case .signal(let member, let type, let names):
                sordino_vtable_signal(place, member.text, type.text, names.text)
            }
        }
        sordino_vtable_end(rows + contents.count + 1)
    }

    deinit { rows.deallocate() }
}

extension StaticString {
    /// Static strings live for ever and end with a NUL.
    var text: UnsafePointer<CChar> {
        UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
