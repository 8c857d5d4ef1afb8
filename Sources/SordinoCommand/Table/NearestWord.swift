/// The word that somebody who wrote `word` most likely meant; `nil` where none is near.
///
/// Near is: a beginning of it (or it of the word), or at most a third of its letters wrong, missing, too many or in the
/// other order. Case does not count.
func nearestWord(to word: String, among words: [String]) -> String? {
    let asked = Array(word.lowercased().unicodeScalars.prefix(64))
    guard !asked.isEmpty else { return nil }
    var best: (word: String, distance: Int)?
    for candidate in words {
        let letters = Array(candidate.lowercased().unicodeScalars)
        let isBeginning = letters.starts(with: asked) || (letters.count > 2 && asked.starts(with: letters))
        let distance = isBeginning ? 1 : editDistance(asked, letters)
        guard isBeginning || distance <= max(1, max(asked.count, letters.count) / 3) else { continue }
        if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
    }
    return best?.word
}

/// How many letters must be changed, added, taken away or swapped with their neighbour (optimal string alignment).
private func editDistance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for (i, x) in a.enumerated() {
        var row = [i + 1]
        for (j, y) in b.enumerated() {
            var cost = min(last[j] + (x == y ? 0 : 1), last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, x == b[j - 1], a[i - 1] == y { cost = min(cost, beforeLast[j - 1] + 1) }
            row.append(cost)
        }
        (beforeLast, last) = (last, row)
    }
    return last[b.count]
}
