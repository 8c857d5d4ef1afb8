/// Rules made ready for matching: each property's value is tried against all patterns on that property once, and the
/// answer is kept, so that another stream of the same program costs a few look-ups.
struct RuleMatcher {
    struct Match {
        var rule: Rule
        /// Whether it is the application table's.
        var isTable: Bool

        var source: StreamClassification.Source { isTable ? .table(rule.name) : .rule(rule.name) }
    }

    private struct Alternative {
        var rule: Int
        var conditions: Int
    }

    private struct PropertyPatterns {
        var property: String
        /// Each pattern with the alternative that it is a condition of.
        var patterns: [(fits: @Sendable (String?) -> Bool, alternative: Int)] = []
        /// The alternatives whose condition on this property holds, by value; one per condition that does.
        var answers: [String: [Int]] = [:]
        /// The same where there is no value.
        var absent: [Int] = []

        func answer(_ value: String?) -> [Int] { patterns.filter { $0.fits(value) }.map(\.alternative) }
    }

    /// Answers kept per property, and the longest value they are kept for; titles must not fill the memory.
    private static let mostAnswers = 256
    private static let longestAnswered = 128

    private let rules: [Rule]
    /// How many of them are the user's; the application table's follow.
    private let userRules: Int
    private var alternatives: [Alternative] = []
    private var properties: [PropertyPatterns] = []
    /// The properties that any rule looks at.
    let propertyNames: [String]
    /// Conditions met so far, by alternative; zero between uses.
    private var met: [Int]

    init(rules userRules: [Rule], table: [Rule]) {
        rules = userRules + table
        self.userRules = userRules.count
        var index: [String: Int] = [:]
        for (number, rule) in rules.enumerated() {
            for match in rule.matches where !match.isEmpty {
                for condition in match {
                    let at = index[condition.property] ?? properties.count
                    if at == properties.count {
                        index[condition.property] = at
                        properties.append(PropertyPatterns(property: condition.property))
                    }
                    properties[at].patterns.append((condition.fits, alternatives.count))
                }
                alternatives.append(Alternative(rule: number, conditions: match.count))
            }
        }
        for index in properties.indices { properties[index].absent = properties[index].answer(nil) }
        propertyNames = properties.map(\.property)
        met = Array(repeating: 0, count: alternatives.count)
    }

    /// The rules that match, in their order. `values`: of `propertyNames`, in the same order; `nil` where there is none.
    mutating func matching(_ values: [String?]) -> [Match] {
        var touched: [Int] = []
        for index in properties.indices {
            for alternative in answer(index, values[index]) {
                if met[alternative] == 0 { touched.append(alternative) }
                met[alternative] += 1
            }
        }
        var found: Set<Int> = []
        for alternative in touched {
            if met[alternative] == alternatives[alternative].conditions { found.insert(alternatives[alternative].rule) }
            met[alternative] = 0
        }
        guard !found.isEmpty else { return [] }
        return found.sorted().map { Match(rule: rules[$0], isTable: $0 >= userRules) }
    }

    private mutating func answer(_ index: Int, _ value: String?) -> [Int] {
        guard let value else { return properties[index].absent }
        if let known = properties[index].answers[value] { return known }
        let answer = properties[index].answer(value)
        guard value.utf8.count <= Self.longestAnswered else { return answer }
        if properties[index].answers.count >= Self.mostAnswers { properties[index].answers.removeAll() }
        properties[index].answers[value] = answer
        return answer
    }
}

/// What the matching rules say together: of each action, the first.
struct RuleVerdict {
    var actions = RuleActions()
    /// The rule that gave the kind.
    var kindFrom: StreamClassification.Source?
    /// The rule that said it is plumbing.
    var plumbingFrom: StreamClassification.Source?

    init(_ matches: [RuleMatcher.Match]) {
        for match in matches {
            let given = match.rule.actions
            if actions.kind == nil, let kind = given.kind {
                actions.kind = kind
                kindFrom = match.source
            }
            if given.isPlumbing, !actions.isPlumbing {
                actions.isPlumbing = true
                plumbingFrom = match.source
            }
            if given.ignore, !actions.ignore {
                actions.ignore = true
                actions.ignoredBy = given.ignoredBy ?? match.rule.name
            }
            actions.exemptFrom.formUnion(given.exemptFrom)
            actions.effects.merge(given.effects) { first, _ in first }
            actions.level = actions.level ?? given.level
            actions.makesNoClaim = actions.makesNoClaim || given.makesNoClaim
        }
    }
}
