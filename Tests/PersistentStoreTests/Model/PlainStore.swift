import JSON

/// A commit and the state that it left.
struct PlainCommit {
  let token: String
  let state: PlainState
  /// What it counted although it is as it was: several reverted groups changed it and back.
  var wavering: Set<Int> = []
}

/// A commit of an author, or one revert of a group.
struct PlainUnit {
  enum Kind {
    case ordinary, undo, redo
  }

  /// The commit.
  let number: Int
  /// Which of the reverts of a commit it is.
  let index: Int
  /// The commit that was undone or redone, through whatever was undone; its own for an ordinary one.
  let origin: Int
  let author: String?
  let context: String?
  let kind: Kind
  let changes: [Int: PlainChange]
  /// Whether it wrote a property that ended as it was.
  var writesUnchangedValues = false

  var id: Int { number * 100 + index }

  /// Whether a revert of a group has to respect this later commit.
  ///
  /// Undoing a commit that is later than the group leads back to what the group left, and the
  /// author's own redo of a commit before the group refers to the commit with which the group began.
  func stands(after group: PlainGroup, _ reverter: String?) -> Bool {
    switch kind {
    case .ordinary: true
    case .undo: origin < group.origin
    case .redo: author != reverter || origin > group.origin
    }
  }
}

/// The plain store: its commits with their states, and the undo stacks of its authors.
struct PlainStore {
  let model: PlainModel
  var state: PlainState
  var commits: [PlainCommit]
  var nextKey = 1
  /// What every author can undo, the newest last; nil where an undone group was.
  var undoable: [String: [PlainUnit?]] = [:]
  /// What every author can redo, the next last.
  var redoable: [String: [PlainUnit]] = [:]
  /// All units that are not reverted, the reverts included.
  var standing: [PlainUnit] = []

  init(_ model: PlainModel, token: String) {
    self.model = model
    state = PlainState(model)
    commits = [PlainCommit(token: token, state: state)]
  }

  var head: Int { commits.count - 1 }
  var token: String { commits.last?.token ?? "" }

  /// What a save, delete or update does; nothing of it is kept before `keep`.
  func save(_ request: JSONValue) -> PlainSave {
    let params = request["params"] ?? [:]
    var save = PlainSave(self, policy: params["mergePolicy"]?.string ?? "error")
    switch request["method"]?.string {
    case "delete": save.runDelete(params)
    case "update": save.runUpdate(params)
    default: save.run(params)
    }
    return save
  }

  /// Keeps the state of a save, as a commit unless the store's token says that nothing changed.
  mutating func keep(_ save: PlainSave, author: String?, context: String?, token: String) {
    let changes = PlainChange.changes(from: state, to: save.state)
    // A save that only has its `transaction` remembered is no group of an undo.
    guard enter(save, token: token), !changes.isEmpty else { return }
    let unit = PlainUnit(
      number: head,
      index: 0,
      origin: head,
      author: author,
      context: context,
      kind: .ordinary,
      changes: changes,
      writesUnchangedValues: save.writesUnchangedValues
    )
    undoable[author ?? "", default: []].append(unit)
    redoable[author ?? ""] = []
    standing.append(unit)
  }

  /// Makes the state of a save the store's; false where it is no commit.
  mutating func enter(_ save: PlainSave, token: String) -> Bool {
    nextKey = save.nextKey
    state = save.state
    guard token != self.token else { return false }
    commits.append(PlainCommit(token: token, state: state, wavering: save.reverted))
    return true
  }
}
