/// A client's description of a new object, with the values as the message contains them.
package struct InsertedObject<Values: Sendable>: Sendable {
  /// A temporary or identity ID, nil when only the entity is named.
  package let id: String?
  /// The entity, nil when the ID names it.
  package let entity: String?
  /// The values by property; other properties get their defaults.
  package let values: Values

  /// Creates a description.
  package init(id: String?, entity: String? = nil, values: Values) {
    self.id = id
    self.entity = entity
    self.values = values
  }
}

/// A client's description of changed properties of an object, with the values as the message
/// contains them.
package struct UpdatedObject<Values: Sendable>: Sendable {
  /// The ID of the object.
  package let id: String
  /// The version that the change is based on; nil for no check.
  package let version: Int64?
  /// The token of the response from which the client read to-manys; nil without a token.
  package let asOf: String?
  /// The new values by property.
  package let values: Values

  /// Creates a description.
  package init(id: String, version: Int64?, asOf: String? = nil, values: Values) {
    self.id = id
    self.version = version
    self.asOf = asOf
    self.values = values
  }
}

/// A client's description of an object to delete.
package struct DeletedObject: Sendable {
  /// The ID of the object.
  package let id: String
  /// The version that the client has; nil for no check.
  package let version: Int64?

  /// Creates a description.
  package init(id: String, version: Int64?) {
    self.id = id
    self.version = version
  }
}
