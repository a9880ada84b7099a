public import Cordial
public import CordialValues
import Indexing
import JSON
import PersistentStore
import Spotlight

/// A part of a program that decides what the search index has of each object.
///
///     struct Notes: SpotlightDelegate {
///       let indexName = "notes"
///       func attributeSet(for object: SpotlightObject) -> SpotlightAttributeSet? {
///         guard object.values["isSecret"] != .bool(true) else { return nil }
///         return object.attributeSet
///       }
///     }
///
/// The entities of the model with `spotlight` remain those that are indexed, with their weights.
/// Objects that match `exclude` of the model are left out before the delegate is asked.
public protocol SpotlightDelegate: Sendable {
  /// The name of the index, a part of the name of its file: 1 to 64 ASCII letters, digits, `-` and
  /// `_`.
  ///
  /// Programs with different delegates on one store need different names. The index without a
  /// delegate, which `cordial` uses, has a file of its own.
  var indexName: String { get }

  /// A text that changes with what the delegate decides; an index of another version is rebuilt.
  ///
  /// The default is "1".
  var indexVersion: String { get }

  /// Returns what the index has of an object.
  ///
  /// The result must depend on the object alone: the index asks again only when a property of the
  /// object changes, or a text at a key path in `keywords` of the model. The method is called on
  /// several threads and delays searches and the index, so it must be fast and must wait for
  /// nothing.
  ///
  /// - Parameter object: The object.
  /// - Returns: The texts and the domain of the object, or nil for an object that is not indexed.
  func attributeSet(for object: SpotlightObject) -> SpotlightAttributeSet?
}

extension SpotlightDelegate {
  /// "1".
  public var indexVersion: String { "1" }
}

/// What the search index has of an object.
public struct SpotlightAttributeSet: Sendable, Equatable {
  /// The indexed texts, by the names of attributes and key paths in `spotlight` of the model.
  ///
  /// A text under another name is an error, with which the index stops.
  public var texts: [String: String]
  /// The domain of the object, by which its documents can be deleted; nil for none.
  public var domain: String?

  /// Creates an attribute set.
  ///
  /// - Parameters:
  ///   - texts: The indexed texts, by the names of attributes and key paths in `spotlight`.
  ///   - domain: The domain of the object; nil for none.
  public init(texts: [String: String], domain: String? = nil) {
    self.texts = texts
    self.domain = domain
  }
}

/// An object of which a delegate decides what the index has.
public struct SpotlightObject: Sendable {
  /// The name of the object's entity.
  public let entity: String
  /// The ID of the object.
  public let id: WrappedID
  /// The attributes and to-ones of the object, by their names; attributes of the types `json` and
  /// `composite` are absent.
  public let values: [String: Cordial.WireValue]
  /// What the index has of the object by the model.
  public let attributeSet: SpotlightAttributeSet
}

extension IndexDelegate {
  /// Creates the store's form of a program's delegate.
  ///
  /// - Throws: `ContainerError` for a name that an index cannot have.
  init(_ delegate: some SpotlightDelegate) throws(ContainerError) {
    let name = delegate.indexName
    let isName = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard isName, (1...64).contains(name.utf8.count) else {
      throw ContainerError(
        message: "An index cannot have the name \"\(name)\"; "
          + "it wants 1 to 64 letters, digits, - and _"
      )
    }
    self.init(name: name, version: delegate.indexVersion) { candidate in
      guard let found = delegate.attributeSet(for: SpotlightObject(candidate)) else { return nil }
      return try candidate.content(found)
    }
  }
}

extension SpotlightObject {
  fileprivate init(_ candidate: IndexCandidate) {
    entity = candidate.entity
    id = .objectID(candidate.id)
    let members = candidate.values.members ?? []
    values = Dictionary(
      members.compactMap { member in Cordial.WireValue(member.value).map { (member.name, $0) } },
      uniquingKeysWith: { first, _ in first }
    )
    attributeSet = candidate.attributeSet
  }
}

extension IndexCandidate {
  fileprivate var attributeSet: SpotlightAttributeSet {
    let texts = zip(fields, content.texts).compactMap { name, text in text.map { (name, $0) } }
    return SpotlightAttributeSet(
      texts: Dictionary(texts, uniquingKeysWith: { first, _ in first }),
      domain: content.domain
    )
  }

  /// Returns what the index has of an object, by what the delegate returned.
  fileprivate func content(_ found: SpotlightAttributeSet) throws -> DocumentContent {
    for name in found.texts.keys.sorted() where !fields.contains(name) {
      throw StoreError(
        .internalError,
        "The delegate returned a text \"\(name)\" for \(id), but spotlight of \(entity) has only "
          + fields.joined(separator: ", ")
      )
    }
    return DocumentContent(
      texts: fields.map { found.texts[$0] },
      boosts: content.boosts,
      domain: found.domain
    )
  }
}
