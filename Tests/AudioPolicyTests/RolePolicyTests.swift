import AudioPolicy
import AudioSessionTestHelper
import Testing

/// A role policy of WirePlumber's that stays in charge.
struct RolePolicyTests {
    @Test func `what plays on a role sink is left to WirePlumber under the holders that it acts for, and nothing else`()
        throws
    {
        let desk = Desk(.pipewire) { $0.settings.scope = .everywhere }
        let music = desk.play("Music", on: desk.headset)
        let film = desk.play("Movie")
        let sinks = "trigger_roles=Communication,Phone ducking_sinks=\(desk.headset.serial)"
        desk.server.setForeignPolicies([ForeignPolicy(name: "wireplumber-role-policy", arguments: sinks)])
        let call = desk.play("Communication")
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        #expect(desk.isHeard(film, at: -20))
        #expect(desk.session.status()?.warnings.filter { $0.contains("left to it") }.count == 1)
        try desk.session.policy?.reload()
        desk.settle()
        #expect(desk.isHeard(music, at: 0))
        desk.server.stop(call)
        desk.settle()
        _ = desk.play("Accessibility")
        desk.settle()
        #expect(desk.isHeard(music, at: -14))
        desk.server.setForeignPolicies([])
        _ = desk.play("Communication")
        desk.settle()
        #expect(desk.isHeard(music, at: -20))
    }
}
