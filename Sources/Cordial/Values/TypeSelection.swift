import CordialProtocol

/// The part of each object that the service returns, so that a type can be decoded.
enum TypeSelection: Equatable, Sendable {
  /// The paths of the properties, by their names in the type.
  case paths([String: String])
  /// The name of one of the model's `values`.
  case projection(String)
  /// The type cannot be decoded.
  case invalid(ValueMismatch)

  private static let cache = TypeCache<TypeSelection>()

  /// Returns the selection for a type.
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

  /// The selected properties, ordered by their names in the type.
  ///
  /// The list is nil for one of the model's `values`, and for a type that cannot be decoded.
  var select: [FetchCall.Selection]? {
    guard case .paths(let paths) = self else { return nil }
    return paths.sorted { $0.key < $1.key }.map {
      FetchCall.Selection(name: $0.key, path: $0.value)
    }
  }
}

extension FetchCall {
  /// Creates a fetch of objects by their IDs.
  ///
  /// - Parameters:
  ///   - ids: The IDs.
  ///   - selection: The part of each object that the service returns.
  init(ids: [String], _ selection: TypeSelection) {
    self.init(ids: ids)
    select(selection)
  }

  /// Sets the part of each object that the service returns.
  mutating func select(_ selection: TypeSelection) {
    select = selection.select
    if case .projection(let name) = selection { value = name }
  }
}
