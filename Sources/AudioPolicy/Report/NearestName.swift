/// Finding what somebody probably meant.
public enum NearestName {
    /// The nearest of `names` by edit distance, if it is near enough to be meant.
    public static func of(_ name: String, among names: some Sequence<String>) -> String? {
        var best: (name: String, distance: Int)?
        for candidate in names {
            let distance = distance(name.lowercased(), candidate.lowercased())
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        guard let best, best.distance <= max(2, name.utf8.count / 3) else { return nil }
        return best.name
    }

    /// Insertions, deletions, substitutions and exchanges of neighbours that turn one into the other.
    package static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.utf8.prefix(128))
        let b = Array(b.utf8.prefix(128))
        if a.isEmpty || b.isEmpty { return a.count + b.count }
        var before: [Int] = []
        var last = Array(0...b.count)
        for i in 1...a.count {
            var row = [i] + Array(repeating: 0, count: b.count)
            for j in 1...b.count {
                row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { row[j] = min(row[j], before[j - 2] + 1) }
            }
            before = last
            last = row
        }
        return last[b.count]
    }

    /// `; did you mean …?`, or nothing.
    public static func hint(_ name: String, among names: some Sequence<String>) -> String {
        of(name, among: names).map { "; did you mean \($0)?" } ?? ""
    }
}
