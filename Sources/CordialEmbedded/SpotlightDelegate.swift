public import Cordial
public import CordialValues
import Indexing
import JSON
import PersistentStore
import Spotlight

/// A part of a program that decides the content of the search index for each object.
///
///     struct Notes: SpotlightDelegate {
///       let indexName = "notes"
///       func attributeSet(for object: SpotlightObject) -> SpotlightAttributeSet? {
///         guard object.values["isSecret"] != .bool(true) else { return nil }
///         return object.attributeSet
///       }
///     }
///
/// Only the entities with `spotlight` in the model are indexed, with the weights of the model. An
/// object that matches `exclude` of the model is not indexed, whatever the delegate returns.
public protocol SpotlightDelegate: Sendable {
  /// The name of the index, which is part of its file's name: 1 to 64 ASCII letters, digits, `-`
  /// and `_`.
  ///
  /// Programs with different delegates on one store need different names. The index without a
  /// delegate, which `cordial` uses, has a file of its own.
  var indexName: String { get }

  /// The version of the delegate's decisions; an index that was built with a different version is
  /// rebuilt.
  ///
  /// A program changes the version when the delegate decides differently. The default is "1".
  var indexVersion: String { get }

  /// Returns the content of the search index for an object.
  ///
  /// The result must depend on the object alone. The index calls the method again only in two
  /// cases: a property of the object changes, or a text at a key path in the model's `keywords`
  /// changes. Several threads call the method. Searches and the index wait for the result, so the
  /// method must be fast and must not block.
  ///
  /// - Parameter object: The object.
  /// - Returns: The texts and the domain of the object, or nil for an object that is not indexed.
  func attributeSet(for object: SpotlightObject) -> SpotlightAttributeSet?
}

extension SpotlightDelegate {
  /// The default version, "1".
  public var indexVersion: String { "1" }
}

/// The content of the search index for an object.
public struct SpotlightAttributeSet: Sendable, Equatable {
  /// The indexed texts, by the names of attributes and key paths in `spotlight` of the model.
  ///
  /// A text under another name is an error, which stops the index.
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

/// An object for which a delegate decides the content of the search index.
public struct SpotlightObject: Sendable {
  /// The name of the object's entity.
  public let entity: String
  /// The ID of the object.
  public let id: WrappedID
  /// The attributes and to-ones of the object, by their names; attributes of the types `json` and
  /// `composite` are absent.
  public let values: [String: Cordial.WireValue]
  /// The content of the search index for the object, as the model defines it.
  public let attributeSet: SpotlightAttributeSet
}

extension IndexDelegate {
  /// Creates an index delegate that calls a program's delegate.
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

  /// Returns the document content for the attribute set that the delegate returned.
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
