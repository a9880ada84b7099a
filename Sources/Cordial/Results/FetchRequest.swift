import CordialProtocol
public import CordialValues
import JSON

/// A request for the objects of an entity, as values of a type.
///
/// `Value` needs no entity here, so that views can create requests without knowledge of a store.
public struct FetchRequest<Value: BaseValue>: Equatable, Sendable {
  /// The condition; nil for all objects.
  public var predicate: FetchPredicate?
  /// The order: names of properties and key paths; a leading `-` means descending order.
  ///
  /// If the list is empty, the objects are in the order of their IDs.
  public var sort: [String]
  /// The property or key path whose values define the sections; a leading `-` means descending
  /// order.
  ///
  /// The objects are sorted by section first. nil means a result without sections.
  public var sectionBy: String?
  /// The maximum number of objects; nil for all.
  public var limit: Int?
  /// The number of objects that the result omits at its beginning.
  public var offset: Int
  /// Whether objects of the entity's descendants match.
  public var includesSubentities: Bool

  /// The reason why a store cannot evaluate the condition; nil if it can.
  var mismatch: ValueMismatch?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - predicate: The condition; nil for all objects.
  ///   - sort: The order, like `["-priority", "title"]`; empty for the order of the IDs.
  ///   - sectionBy: The property or key path whose values define the sections; nil for no sections.
  ///   - limit: The maximum number of objects; nil for all.
  ///   - offset: The number of objects that the result omits at its beginning.
  ///   - includesSubentities: Whether objects of the entity's descendants match.
  public init(
    predicate: FetchPredicate? = nil,
    sort: [String] = [],
    sectionBy: String? = nil,
    limit: Int? = nil,
    offset: Int = 0,
    includesSubentities: Bool = true
  ) {
    self.predicate = predicate
    self.sort = sort
    self.sectionBy = sectionBy
    self.limit = limit
    self.offset = offset
    self.includesSubentities = includesSubentities
  }
}

extension FetchRequest where Value: ObjectValue {
  /// Makes the request fail when it runs.
  ///
  /// - Parameter reason: A sentence about the error in the condition.
  package mutating func refuse(because reason: String) {
    mismatch = ValueMismatch("", "", reason)
  }

  /// The part of each object that the service returns.
  var selection: TypeSelection {
    mismatch.map(TypeSelection.invalid) ?? TypeSelection.of(Value.self)
  }

  /// The params of `fetch`.
  var call: FetchCall {
    var call = FetchCall(entity: Value.entity)
    call.predicate = predicate?.format
    call.arguments = predicate?.wireArguments
    call.sort = sort
    call.sectionBy = sectionBy
    call.limit = limit
    call.offset = max(0, offset)
    call.subentities = includesSubentities
    call.select(selection)
    return call
  }

  /// The params of `fetch`, as JSON text.
  package var params: String { call.json.text }

  /// The reason why the type cannot be fetched; nil if the type can be fetched.
  package var typeMismatch: String? {
    if case .invalid(let mismatch) = selection { mismatch.description } else { nil }
  }
}
