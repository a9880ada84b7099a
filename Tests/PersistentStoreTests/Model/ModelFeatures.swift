import Foundation

/// A behaviour of the contract that a store may not have yet.
///
/// The plain model always follows the contract. A request that needs a feature that is off is not
/// sent, or the part of its answer that the feature decides is not compared.
enum ModelFeature: String, CaseIterable {
  // MARK: Requests that are not sent

  /// Uniqueness over a to-one, or over several entities of a family.
  case uniqueOverFamily
  /// A required to-one that is given from the other end, or is removed and set again.
  case requiredFromOtherEnd
  /// Objects that swap unique values, or take those of an object that leaves them.
  case swaps
  /// A whole list of a one-to-many with a `version`.
  case oneToManyLists
  /// An update with `asOf`.
  case asOf
  /// Inserts that meet another insert of the save, or an object of another entity of the family.
  case upsertsOfFamily
  /// An update that takes the unique values of another object, under a merge policy.
  case updateTakesUnique
  /// Deletes by external clients of objects to which others refer, and the delete rule `noAction`.
  case danglingReferences
  /// `transaction` in upper case, and of `delete`, `update`, `undo` and `redo`.
  case transactionForms

  /// A required to-one of a one-to-one that another object's claim ends.
  case requiredOneToOne
  /// Counts of to-manys that only change from their other end.
  case countsOfOtherEnd
  /// `INSERT OR REPLACE` of an external client.
  case externalReplace
  /// Undo of, or after, a `DELETE` of an external client.
  case undoAfterExternalDelete

  // MARK: Parts of answers that are not compared

  /// All problems at once, with their rules and objects.
  case allProblems
  /// Problems that name the ID that was sent.
  case problemIDs
  /// `merged` for deletes with an older version.
  case mergedDeletes
  /// To-manys that a policy keeps as the store has them are reported, and their values returned.
  case keptLists
  /// `before` of an order that changed.
  case orderBefore
  /// The values in `objects` are those that the whole save leaves.
  case endStateInAnswers
  /// Inserts are applied in the order given, those that meet an object too; what joins an ordered
  /// to-many of an insert from the other end follows its list.
  case insertOrder
  /// A property that a save changes and changes back increments no version.
  case netVersions
  /// Answers name objects by their identity, also where the request named them by their objectID.
  case identityInAnswers
}

enum ModelFeatures {
  /// Every feature; those on by default are the ones that the store has.
  static let all: [ModelFeature: Bool] = [
    .uniqueOverFamily: true,
    .requiredFromOtherEnd: true,
    .swaps: true,
    .oneToManyLists: true,
    .asOf: true,
    .upsertsOfFamily: true,
    .updateTakesUnique: true,
    .danglingReferences: false,
    .transactionForms: true,
    .requiredOneToOne: true,
    .countsOfOtherEnd: true,
    .externalReplace: true,
    .undoAfterExternalDelete: true,
    .allProblems: true,
    .problemIDs: true,
    .mergedDeletes: true,
    .keptLists: true,
    .orderBefore: true,
    .insertOrder: true,
    .endStateInAnswers: true,
    .netVersions: true,
    .identityInAnswers: true,
  ]

  /// Those of `all`, and what `CORDIAL_FEATURES` turns on (`swaps,asOf`, `all`) or off (`-swaps`).
  static let on: Set<ModelFeature> = {
    var on = Set(all.filter(\.value).keys)
    let words = ProcessInfo.processInfo.environment["CORDIAL_FEATURES"] ?? ""
    for word in words.split(separator: ",").map(String.init) {
      if word == "all" { on.formUnion(ModelFeature.allCases) }
      if let feature = ModelFeature(rawValue: word) { on.insert(feature) }
      if word.hasPrefix("-"), let feature = ModelFeature(rawValue: String(word.dropFirst())) {
        on.remove(feature)
      }
    }
    return on
  }()

  static func has(_ feature: ModelFeature) -> Bool { on.contains(feature) }
}
