import CordialProtocol
public import CordialValues
import JSON

/// The result of a save.
public struct SaveResult: Sendable, Equatable {
  /// The position of the store after the save.
  public let token: String
  /// The IDs of the inserted objects, by their temporary IDs.
  public let ids: [WrappedID: WrappedID]
  /// The versions of the inserted and updated objects, by their IDs.
  public let versions: [WrappedID: Int64]
  /// The stored values that differ from the sent values, by object ID and by property of the model.
  let stored: [WrappedID: [JSONMember]]

  /// Reads the result of `save`.
  init(_ result: SaveCall.Result) {
    token = result.token
    var ids: [WrappedID: WrappedID] = [:]
    for member in result.ids {
      guard let temporary = WrappedID(member.name), let text = member.value.string,
        let id = WrappedID(text)
      else { continue }
      ids[temporary] = id
    }
    var (versions, stored): ([WrappedID: Int64], [WrappedID: [JSONMember]]) = ([:], [:])
    for object in result.objects {
      guard let id = object.id.flatMap({ WrappedID($0) }) else { continue }
      versions[id] = object.version
      stored[id] = object.values
    }
    (self.ids, self.versions, self.stored) = (ids, versions, stored)
  }
}
