import CordialProtocol
import JSON

/// What the service returns of each object, so that a type can be decoded.
enum TypeSelection: Equatable, Sendable {
  /// The paths of the properties, by their names in the type.
  case paths([String: String])
  /// One of the model's values.
  case projection(String)
  /// The type cannot be decoded.
  case invalid(ValueMismatch)

  private static let cache = TypeCache<TypeSelection>()

  /// Returns what a type decodes.
  static func of<Object: ObjectValue>(_ type: Object.Type) -> TypeSelection {
    cache.fact(for: type) { TypeSelection(of: type) }
  }

  private init<Object: ObjectValue>(of type: Object.Type) {
    if let projection = type.projection {
      self = .projection(projection)
      return
    }
    do throws(ValueMismatch) {
      var paths: [String: String] = [:]
      for property in try DecodedProperties.of(type).properties {
        paths[property.name] = type.properties[property.name] ?? property.name
      }
      if let unused = type.properties.keys.sorted().first(where: { paths[$0] == nil }) {
        let reason = "properties declares it, but \(type) does not decode it"
        throw ValueMismatch("", unused, reason)
      }
      self = .paths(paths)
    } catch {
      self = .invalid(error)
    }
  }

  var members: [JSONMember] {
    switch self {
    case .projection(let name): return [JSONMember(.value, .string(name))]
    case .invalid: return []
    case .paths(let paths):
      let sorted = paths.sorted { $0.key < $1.key }
      let members = sorted.map { JSONMember($0.key, .string($0.value)) }
      return [JSONMember(.select, .object(members))]
    }
  }
}
