import CPipeWire

/// The server's dictionaries as Swift's. Values are whatever a program wrote; what is not UTF-8 is repaired.
func readProperties(_ dictionary: UnsafePointer<spa_dict>?) -> [String: String] {
    guard let dictionary, let items = dictionary.pointee.items else { return [:] }
    var result: [String: String] = [:]
    result.reserveCapacity(Int(dictionary.pointee.n_items))
    for index in 0..<Int(dictionary.pointee.n_items) {
        guard let key = items[index].key, let value = items[index].value else { continue }
        result[String(cString: key)] = String(cString: value)
    }
    return result
}

/// A new set of properties, for a call that takes it over.
func newProperties(_ values: [String: String]) -> UnsafeMutablePointer<pw_properties>? {
    let result = cpw_properties_new()
    for (key, value) in values { pw_properties_set(result, key, value) }
    return result
}
