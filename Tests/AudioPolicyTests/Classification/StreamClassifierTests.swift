import AudioPolicy
import Testing

@Suite struct StreamClassifierTests {}
