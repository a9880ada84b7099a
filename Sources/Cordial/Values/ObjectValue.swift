public import CordialValues

/// A value that a service fetches: a `Codable` struct.
///
/// The properties that the type decodes are the properties that a fetch selects. The type declares
/// only what differs from the model:
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

  /// The path of each property whose name differs from the model's, or that is computed.
  static var properties: [String: String] { get }

  /// The name of one of the model's `values`, which a fetch selects instead of the properties.
  static var projection: String? { get }
}

extension ObjectValue {
  /// No property differs.
  public static var properties: [String: String] { [:] }

  /// The type's own properties.
  public static var projection: String? { nil }
}

/// An enumeration that decodes a raw value that it does not have, as another version of a program
/// may store it.
public protocol FallbackDecodable: Decodable, Sendable {
  /// The case that stands for every unknown raw value.
  static var fallback: Self { get }
}
