import JSON
import TestSeeds

/// Composites of random models: an attribute inside one has a path as its name, as `c1.a2`.
///
/// The composites of one entity are those that the names of its attributes have.
extension WideAttribute {
  /// The path of the composite with its last dot; empty outside of composites.
  var prefix: String { name.lastIndex(of: ".").map { String(name[...$0]) } ?? "" }
  var isMember: Bool { !prefix.isEmpty }
}

extension WideModel {
  /// The elements of a model file for attributes, with composites around their members.
  func elements(_ attributes: [WideAttribute], depth: Int = 0) -> [JSONValue] {
    var elements: [JSONValue] = []
    var composites: Set<String> = []
    for attribute in attributes {
      let names = attribute.name.split(separator: ".").map(String.init)
      let former = attribute.renamedFrom?.split(separator: ".").map(String.init)
      let renaming = former.flatMap { former in
        former[depth] == names[depth]
          ? nil : JSONMember("renamedFrom", .string(former[depth]))
      }
      if names.count == depth + 1 {
        elements.append(element(attribute, named: names[depth], renaming))
      } else if composites.insert(names[depth]).inserted {
        let inner = attributes.filter {
          let path = $0.name.split(separator: ".")
          return path.count > depth + 1 && path[depth] == names[depth]
        }
        elements.append(
          .object(
            [JSONMember("name", .string(names[depth])), JSONMember("type", "composite")]
              + (renaming.map { [$0] } ?? [])
              + [JSONMember("members", .array(self.elements(inner, depth: depth + 1)))]
          )
        )
      }
    }
    return elements
  }

  /// Values in which the members of composites are in objects.
  static func nested(_ members: [JSONMember]) -> JSONValue {
    var values: [JSONMember] = []
    for member in members {
      let path = member.name.split(separator: ".", maxSplits: 1).map(String.init)
      guard path.count == 2 else {
        values.append(member)
        continue
      }
      guard !values.contains(where: { $0.name == path[0] }) else { continue }
      let inner = members.filter { $0.name.hasPrefix(path[0] + ".") }
        .map { JSONMember(String($0.name.dropFirst(path[0].count + 1)), $0.value) }
      values.append(JSONMember(path[0], nested(inner)))
    }
    return .object(values)
  }
}

extension WideModelGenerator {
  /// Adds a composite, perhaps with another one inside.
  mutating func addComposite(_ entity: Int) {
    let name = newName("c")
    for _ in 0..<(1 + random.below(3)) { append(attribute(in: name + "."), to: entity) }
    guard random.oneIn(2) else { return }
    let inner = newName("p")
    for _ in 0..<(1 + random.below(2)) {
      append(attribute(in: "\(name).\(inner)."), to: entity)
    }
  }

  private mutating func attribute(in prefix: String) -> WideAttribute {
    var attribute = attribute()
    attribute.name = prefix + attribute.name
    return attribute
  }
}

extension WideMigration {
  /// Renames the outermost composite of an attribute, with all its members.
  mutating func renameComposite(of attribute: WideAttribute, _ entity: WideEntity) {
    guard attribute.isMember, let name = attribute.name.split(separator: ".").first else { return }
    let members = entity.attributes.filter { $0.name.hasPrefix(name + ".") }
    guard members.allSatisfy({ !isClaimed($0.number) && $0.renamedFrom == nil }) else { return }
    let new = generator.newName("n")
    for member in members {
      _ = claim(member.number)
      model.change(attribute: member.number) {
        $0.renamedFrom = member.name
        $0.name = new + member.name.dropFirst(name.count)
      }
    }
    note("rename the composite \(entity.name).\(name) to \(new)")
  }
}
