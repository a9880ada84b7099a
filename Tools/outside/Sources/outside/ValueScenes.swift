import Cordial
import CordialValues
import TodoValues

// Values and live objects: the cell shows a value, its root holds the live object.

/// A mock type of a program's own, where `Mock` is not enough.
final class MockGroup: TestableConvertibleValueObject {
  let storage: MockStorage<TodoGroup>

  init(_ value: TodoGroup) { storage = MockStorage(value) }

  /// A member that only this mock has.
  var isEmpty: Bool { convertToValueType()?.taskCount == 0 }
}

/// A live object that is neither a mock nor stored: a program computes its values.
final class Countdown: ConvertibleValueObject {
  private let storage: ObjectStorage<TodoGroup>

  init(from count: Int) {
    storage = ObjectStorage(TodoGroup(id: .integer(count), title: "Days", taskCount: count))
  }

  var id: WrappedID { storage.lastValidValue?.id ?? .string("Days") }
  func convertToValueType() -> TodoGroup? { storage.value }
  var lastValidValue: TodoGroup? { storage.lastValidValue }
  var version: Int64 { storage.version }
  var values: ValueSequence<TodoGroup> { ValueSequence(storage) }

  /// Counts a day; the object ends after the last one.
  func tick() {
    guard var value = storage.value else { return }
    value.taskCount -= 1
    storage.set(value.taskCount < 0 ? nil : value, version: storage.version + 1)
  }
}

/// The model behind a cell that shows a value.
struct GroupCell {
  let group: TodoGroup

  var text: String { "\(group.title): \(group.taskCount)" }
}

/// The model behind the root of a cell: it shows a live object whose source it does not know.
@MainActor struct GroupCellRoot {
  let group: AnyConvertibleValueObject<TodoGroup>

  /// The text; nil where the object was deleted, so that the cell is empty.
  var text: String? { group.wrappedValue.map { GroupCell(group: $0).text } }
}

/// The previews of the cell.
@MainActor enum GroupCellPreviews {
  static let value = GroupCell(group: TodoGroup(id: .string("Group1"), title: "A", taskCount: 5))
  static let root = GroupCellRoot(group: MockGroup(value.group).eraseToAny())
}

/// A cell is built from a value, from a mock, and from any other live object.
@MainActor func cellsShowMocks() throws {
  try check(GroupCellPreviews.value.text == "A: 5" && GroupCellPreviews.root.text == "A: 5")
  let mock = MockGroup(.samples[0])
  let cell = GroupCellRoot(group: mock.eraseToAny())
  try check(cell.text == "Home: 2")
  mock.title = "House"
  mock.taskCount = 0
  try check(cell.text == "House: 0" && mock.isEmpty)
  mock.update(.samples[0])
  try check(mock == MockGroup(.samples[0]))
  mock.delete()
  try check(cell.text == nil)

  let countdown = Countdown(from: 1)
  let days = GroupCellRoot(group: countdown.eraseToAny())
  try check(days.text == "Days: 1")
  countdown.tick()
  try check(days.text == "Days: 0" && days.group.version == 1)
  countdown.tick()
  try check(days.text == nil && days.group.lastValidValue?.taskCount == 0)
}

/// Setting the value that a mock has notifies nobody.
@MainActor func equalValuesNotifyNobody() async throws {
  let mock = Mock(TodoGroup.samples[0])
  var values = mock.values.makeAsyncIterator()
  try check(await values.next() == .some(.samples[0]))
  mock.title = "Home"
  mock.title = "House"
  try check(await values.next()??.title == "House")
}

/// The forms of an ID, of which only one has an object in a store.
func identitiesAreOfFourForms() throws {
  let forms =
    [.string("Group1"), .integer(2), .uuid(UUIDValue(high: 1, low: 2))]
    + [WrappedID("Group/p1")].compactMap { $0 }
  let stored = forms.filter { id in
    switch id {
    case .objectID: true
    case .string, .integer, .uuid: false
    }
  }
  try check(stored.map(\.description) == ["Group/p1"] && Set(forms).count == 4)
  try check(forms.allSatisfy { $0.id == $0 })
}

/// An ID, a value and a live object may cross isolation domains.
func identitiesAndObjectsAreSendable() async throws {
  let object = Mock(TodoGroup.samples[0]).eraseToAny()
  // The conversion may be called from any isolation.
  let title = await Task.detached { object.convertToValueType()?.title }.value
  try check(title == "Home" && object.id == .string("Group1"))
}
