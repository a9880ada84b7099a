/// The unsaved steps of a context, for undo and redo.
struct ContextHistory {
  /// A change of one object, with the closure that restores the object's former state.
  private struct Change {
    let object: any RegisteredObject
    let restore: () -> Void
  }

  private var undoable: [[Change]] = []
  private var redoable: [[Change]] = []
  /// The changes of the open group; nil if no group is open.
  private var group: [Change]?
  private var depth = 0

  /// The maximum number of steps; each further step removes the oldest step.
  private static let stepsMax = 1000

  var canUndo: Bool { !undoable.isEmpty || group?.isEmpty == false }
  var canRedo: Bool { !redoable.isEmpty }

  mutating func begin() {
    depth += 1
    if group == nil { group = [] }
  }

  mutating func end() {
    depth -= 1
    guard depth <= 0 else { return }
    depth = 0
    if let group, !group.isEmpty { push(group) }
    group = nil
  }

  mutating func add(_ object: any RegisteredObject, _ restore: @escaping () -> Void) {
    redoable = []
    let change = Change(object: object, restore: restore)
    if group == nil { push([change]) } else { group?.append(change) }
  }

  private mutating func push(_ step: [Change]) {
    undoable.append(step)
    if undoable.count > Self.stepsMax { undoable.removeFirst() }
  }

  /// Reverts the newest step; an open group with changes is the newest step.
  mutating func undo() {
    if let open = group, !open.isEmpty {
      push(open)
      group = []
    }
    guard let step = undoable.popLast() else { return }
    redoable.append(Self.reverted(step))
  }

  mutating func redo() {
    guard let step = redoable.popLast() else { return }
    undoable.append(Self.reverted(step))
  }

  /// Reverts a step, and returns a step that applies the reverted changes again.
  private static func reverted(_ step: [Change]) -> [Change] {
    step.reversed().map { change in
      let back = Change(object: change.object, restore: change.object.snapshot())
      change.restore()
      return back
    }
  }
}
