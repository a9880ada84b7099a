import CordialProtocol
import CordialValues
import JSON

/// The names of a mock's objects in its script and in the store that serves them.
///
/// A store gives its own IDs. Messages of clients have the IDs of the script.
struct MockNames: Sendable {
  private var stored: [String: String] = [:]
  private var scripted: [String: String] = [:]
  /// What is added to the versions of the store, by the ID of the script.
  private var versions: [String: Int64] = [:]
  /// The scripted names of values that a key path of the model computes, by entity.
  var computedNames: [String: Set<String>] = [:]

  /// Adds an object.
  ///
  /// - Parameters:
  ///   - name: Its ID in the script.
  ///   - id: Its ID in the store.
  ///   - version: Its version in the script; in the store it is 1.
  mutating func add(_ name: String, _ id: String, version: Int64) {
    if name != id { (stored[name], scripted[id]) = (id, name) }
    if version != 1 { versions[name] = version - 1 }
  }

  /// Returns whether the script has an object with an ID.
  func has(_ name: String) -> Bool { stored[name] != nil }

  // MARK: To the store

  /// Returns a message of a client as the store understands it.
  func toStore(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): return stored[text].map(JSONValue.string) ?? value
    case .array(let elements): return .array(elements.map(toStore))
    case .object(let members):
      let offset = members.first { $0.isOne(of: .id) }?.value.string.flatMap { versions[$0] } ?? 0
      return .object(
        members.map { member in
          if offset != 0, member.isOne(of: .version), let version = member.value.integer {
            return JSONMember(.version, .integer(max(0, version - offset)))
          }
          if member.isOne(of: .predicate), let text = member.value.string {
            return JSONMember(member.name, .string(predicate(text)))
          }
          return JSONMember(member.name, toStore(member.value))
        }
      )
    default: return value
    }
  }

  /// Returns a predicate in which the literals of scripted IDs are those of the store.
  private func predicate(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "/")) else { return text }
    var text = text
    for (name, id) in stored {
      for quote in ["'", "\""] where text.contains(quote + name + quote) {
        text = text.replacing(quote + name + quote, with: quote + id + quote)
      }
    }
    return text
  }

  /// Returns the params of a fetch, in which the name of a scripted value stands for a key path.
  func withScriptedValues(_ params: JSONValue) -> JSONValue {
    guard let entity = params[.entity]?.string, let names = computedNames[entity],
      let members = params.members
    else { return params }
    return .object(
      members.map { member in
        guard member.isOne(of: .select), let select = member.value.members else { return member }
        return JSONMember(
          .select,
          .object(select.map { names.contains($0.name) ? .init($0.name, .string($0.name)) : $0 })
        )
      }
    )
  }

  // MARK: To clients

  /// Returns a message of the store as clients understand it.
  mutating func toClient(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): return .string(name(text))
    case .array(let elements): return .array(elements.map { toClient($0) })
    case .object(let members):
      let offset =
        members.first { $0.isOne(of: .id) }?.value.string.flatMap { versions[name($0)] } ?? 0
      return .object(
        members.map { member in
          if offset != 0, member.isOne(of: .version), let version = member.value.integer {
            return JSONMember(.version, .integer(version + offset))
          }
          return JSONMember(name(member.name), toClient(member.value))
        }
      )
    default: return value
    }
  }

  /// Returns the name that clients know, where the text is the ID of a stored object.
  private mutating func name(_ text: String) -> String {
    if let name = scripted[text] { return name }
    // The script has another object with this ID, so that this one gets an ID of its own.
    guard stored[text] != nil, let id = ObjectID(text), case .object(let number) = id.key else {
      return text
    }
    var next = number
    var free: String
    repeat {
      next += 1
      free = ObjectID(entity: id.entity, key: .object(next)).description
    } while stored[free] != nil || scripted[free] != nil
    (stored[free], scripted[text]) = (text, free)
    return free
  }
}
