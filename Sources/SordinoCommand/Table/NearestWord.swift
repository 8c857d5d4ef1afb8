import AudioPolicy

/// The word that somebody who wrote `word` most likely meant; `nil` where none is near. A beginning is as near as can be,
/// since people cut words short.
func nearestWord(to word: String, among words: [String]) -> String? {
    let asked = word.prefix(64).lowercased()
    guard asked.count > 1 else { return nil }
    return words.first { $0.lowercased().hasPrefix(asked) } ?? NearestName.of(asked, among: words)
}
