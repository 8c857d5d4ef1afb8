import AudioSession
import Foundation
import Testing

@testable import SessionBus

@Suite struct ServiceFileTests {
    private func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `The files for the bus and the service manager name what the daemon owns`() throws {
        let bus = try text("config/dbus/\(BusContract.name).service")
        #expect(bus.contains("\nName=\(BusContract.name)\n"))
        #expect(bus.contains("\nSystemdService=sordino.service\n"))
        #expect(try text("config/systemd/sordino.service").contains("\nBusName=\(BusContract.name)\n"))
    }

    /// The members of an interface with the types and names of their arguments, in alphabetical order.
    private func members(of interface: String, in xml: String) throws -> [String] {
        let all = try #require(xml.range(of: "<interface name=\"\(interface)\">"))
        let end = try #require(xml.range(of: "</interface>", range: all.upperBound..<xml.endIndex))
        let comments = /<!--(.|\n)*?-->/
        let body = xml[all.upperBound..<end.lowerBound].replacing(comments, with: "")
        var members: [String] = []
        for tag in body.matches(of: /<(method|property|signal|arg) ([^>]*?)\/?>/) {
            let text = "\(tag.1) \(tag.2)".trimmingCharacters(in: .whitespaces)
            if tag.1 == "arg" { members[members.count - 1] += ", \(text)" } else { members.append(text) }
        }
        return members.sorted()
    }

    @Test func `The documented interface is the one that the service has`() throws {
        let documented = try text("config/dbus/\(BusContract.name).xml")
        let desk = try BusDesk(.quiet)
        let service = try desk.running()
        let holder = try Holder(desk)
        let claim = BusContract.path(ofClaim: try holder.acquire(.playback).description)
        for (interface, path) in [(BusContract.interface, BusContract.path), (BusContract.claimInterface, claim)] {
            let real = try desk.busctl("introspect", "--xml-interface", BusContract.name, path)
            let found = try members(of: interface, in: real)
            #expect(!found.isEmpty)
            #expect(try members(of: interface, in: documented) == found)
            for member in found {
                let name = try #require(member.firstMatch(of: /name="([A-Za-z]+)"/)).1
                #expect(documented.contains("\n      \(name):"), "\(name) is not documented")
            }
        }
        let children = try desk.busctl("tree", "--list", BusContract.name)
        #expect(children.contains(claim))
        service.stop()
    }
}
