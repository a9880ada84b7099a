import CordialProtocol
import CordialValues
import JSON

/// The mapping between the object IDs of a mock's script and the IDs of its store.
///
/// The store assigns its own IDs. Clients send and receive the IDs of the script.
struct MockNames: Sendable {
  private var stored: [String: String] = [:]
  private var scripted: [String: String] = [:]
  /// The script's version of each object minus the store's version, by ID in the script.
  private var versions: [String: Int64] = [:]
  /// The names of the model's `values` that the script sets directly, by entity.
  var computedNames: [String: Set<String>] = [:]

  /// Adds an object.
  ///
  /// - Parameters:
  ///   - name: The object's ID in the script.
  ///   - id: The object's ID in the store.
  ///   - version: The object's version in the script; its version in the store is 1.
  mutating func add(_ name: String, _ id: String, version: Int64) {
    if name != id { (stored[name], scripted[id]) = (id, name) }
    if version != 1 { versions[name] = version - 1 }
  }

  /// Returns whether the script has an object with an ID.
  func has(_ name: String) -> Bool { stored[name] != nil }

  // MARK: To the store

  /// Returns a client's message with the IDs and versions of the store.
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

  /// Returns a predicate whose literals have the IDs of the store instead of the script's IDs.
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

  /// Returns the params of a fetch, changed so that each scripted value is selected by its name
  /// instead of a key path.
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

  /// Returns a message of the store with the IDs and versions that clients know.
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

  /// Returns the ID that clients know for a stored object's ID, and any other text unchanged.
  private mutating func name(_ text: String) -> String {
    if let name = scripted[text] { return name }
    // The script has another object with this ID, so the stored object gets an unused ID.
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
