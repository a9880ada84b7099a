import Cordial
import CordialProtocol
import Foundation
import JSON
import ObjectModel
import Porting
import TestSeeds
import Testing

// Evidence: P-135b
@Suite struct `Round trips of models` {
  private static let models = ["Packages.json", "Todo.json"]

  /// Every type, inheritance, orders, both directions of required references, and cycles.
  private static let wide = """
    {"name":"Wide","entities":[
      {"name":"Base","abstract":true,"attributes":[
         {"name":"text","type":"string","optional":true},
         {"name":"whole","type":"int64","optional":true},
         {"name":"small","type":"int16","optional":true},
         {"name":"ratio","type":"double","optional":true},
         {"name":"half","type":"float","optional":true},
         {"name":"price","type":"decimal","optional":true},
         {"name":"flag","type":"boolean","optional":true},
         {"name":"day","type":"date","optional":true},
         {"name":"mark","type":"uuid","optional":true},
         {"name":"link","type":"uri","optional":true},
         {"name":"data","type":"binary","optional":true},
         {"name":"facts","type":"json","optional":true},
         {"name":"folded","type":"string","derived":"canonical:(text)"}],
       "relationships":[
         {"name":"any","destination":"Base","toMany":true,"ordered":true},
         {"name":"next","destination":"Base","optional":true}]},
      {"name":"Left","parent":"Base","relationships":[
         {"name":"right","destination":"Right","inverse":"left"}]},
      {"name":"Right","parent":"Base","relationships":[
         {"name":"left","destination":"Left","inverse":"right"},
         {"name":"peers","destination":"Right","toMany":true,"inverse":"peers"}]}]}
    """

  private static func model(named name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appendingPathComponent("Protocol/models/\(name)")
    return try String(contentsOf: file, encoding: .utf8)
  }

  private static func value(_ type: AttributeType, _ random: inout SplitMix64) -> JSONValue {
    let texts = ["", "a", "ä\n\"", "東京", "x,y", "0", "null", "😀"]
    switch type {
    case .string: return .string(random.pick(texts) + "\(random.below(1000))")
    case .int16: return .integer(Int64(random.below(60_000)) - 30_000)
    case .int32: return .integer(Int64(random.below(4_000_000)) - 2_000_000)
    case .int64: return .string("\(Int64(bitPattern: random.next()))")
    case .double, .float: return .number(Double(random.below(4000)) / 16 - 100)
    case .decimal: return .string("-\(random.below(99)).\(1 + random.below(9))")
    case .boolean: return .bool(random.oneIn(2))
    case .date:
      return .string("20\(10 + random.below(80))-02-03T04:05:06.\(100 + random.below(900))Z")
    case .uuid:
      return .string(
        "0F0E0D0C-0000-4000-8000-\(String(100_000_000_000 + random.below(1_000_000_000)))"
      )
    case .uri: return .string("https://example.org/\(random.below(1000))?q=%20")
    case .binary: return .string(random.pick(["", "AQID", "AA==", "////"]))
    case .json: return random.pick([["a": [1, 2.5, nil]], "text", [], 7, ["b": ["c": true]]])
    }
  }

  /// Returns inserts of some objects of each entity with random values and references.
  private static func inserts(_ model: Model, _ random: inout SplitMix64) -> [JSONValue] {
    let count = 7
    func target(_ entity: Int, _ random: inout SplitMix64) -> JSONValue {
      let kind = model.entity(random.pick(model.entity(entity).familyPosition.concreteEntities))
      return .string("\(kind.name)/t\(1 + random.below(count))")
    }
    return model.entities.filter { !$0.isAbstract }.flatMap { entity in
      (1...count).map { number -> JSONValue in
        var values: [JSONMember] = []
        for attribute in entity.attributes where attribute.derived == nil {
          if attribute.optional, random.oneIn(4) { continue }
          values.append(JSONMember(attribute.name, value(attribute.type, &random)))
        }
        for relationship in entity.relationships {
          if relationship.toMany {
            // The other end has the members of a one-to-many.
            if relationship.storage == .inverseColumn { continue }
            let members = (0..<random.below(4)).map { _ in target(relationship.destination, &random)
            }
            var seen: Set<String> = []
            let once = members.filter { seen.insert($0.text).inserted }
            values.append(JSONMember(relationship.name, .array(once)))
          } else if relationship.optional {
            if random.oneIn(3) { continue }
            values.append(JSONMember(relationship.name, target(relationship.destination, &random)))
          } else {
            // A pair requires each other where both ends are required.
            let kind = model.entity(relationship.destination)
            values.append(JSONMember(relationship.name, .string("\(kind.name)/t\(number)")))
          }
        }
        return ["id": .string("\(entity.name)/t\(number)"), "values": .object(values)]
      }
    }
  }

  /// Returns the export of a store with each ID replaced by its position.
  private func positions(_ client: ClientConnection) async throws -> [String] {
    var objects: [JSONValue] = []
    try await Exporter.run([], from: client) { objects.append($0) }
    let names = Dictionary(
      uniqueKeysWithValues: objects.enumerated().map { ($1["id"]?.string ?? "", "#\($0)") }
    )
    func renamed(_ value: JSONValue) -> JSONValue {
      switch value {
      case .string(let text): .string(names[text] ?? text)
      case .array(let elements): .array(elements.map(renamed))
      case .object(let members): .object(members.map { JSONMember($0.name, renamed($0.value)) })
      default: value
      }
    }
    return objects.map { renamed($0).text }
  }

  @Test(arguments: Seeds.first(6), models + ["wide"])
  func `keep every value and reference`(seed: UInt64, name: String) async throws {
    var random = SplitMix64(seed: seed)
    let text = name == "wide" ? Self.wide : try Self.model(named: name)
    let model = try ModelDocument.parse(Array(text.utf8).span)
    let inserts = Self.inserts(model, &random)
    let (lines, first) = try await withClient(text) { client in
      _ = try await client.call("save", ["insert": .array(inserts)])
      var lines: [String] = []
      try await Exporter.run([], from: client) { lines.append($0.text) }
      return (lines, try await positions(client))
    }
    let second = try await withClient(text) { client in
      let summary = try await Importer.run(
        Array(lines.joined(separator: "\n").utf8),
        into: client,
        batch: 1 + random.below(10)
      )
      #expect(summary.unknown.isEmpty)
      return try await positions(client)
    }
    #expect(first.count == inserts.count)
    #expect(second == first, "\(Seeds.repeating(seed))")
  }
}
