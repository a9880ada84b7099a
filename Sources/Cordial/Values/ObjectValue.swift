public import CordialValues

/// A `Codable` struct that represents an object of a service.
///
/// A fetch selects the properties that the type decodes. The type declares only its differences
/// from the model:
///
///     struct TodoGroup: ObjectValue {
///       static let entity = "Group"
///       static let properties = ["taskCount": "tasks.@count"]
///       var id: WrappedID
///       var title: String
///       var taskCount: Int
///     }
public protocol ObjectValue: BaseValue, Codable {
  /// The name of the entity in the model.
  static var entity: String { get }

  /// The model's key paths for computed and renamed properties, by the property names in the type.
  static var properties: [String: String] { get }

  /// The name of a selection among the model's `values`, which a fetch uses instead of the type's
  /// properties; nil for none.
  static var projection: String? { get }
}

extension ObjectValue {
  /// The default: no property differs from the model.
  public static var properties: [String: String] { [:] }

  /// The default: a fetch selects the type's own properties.
  public static var projection: String? { nil }
}

/// An enumeration that decodes unknown raw values as a fallback case.
///
/// Another version of a program may store raw values that this version does not know.
public protocol FallbackDecodable: Decodable, Sendable {
  /// The case for every unknown raw value.
  static var fallback: Self { get }
}
