import Cordial
import CordialValues
import TestSeeds
import Testing

@Suite struct `A list of mocks` {
  private func mock(_ number: Int) -> AnyConvertibleValueObject<TodoGroup> {
    Mock(TodoGroup(id: .integer(number), title: "\(number)", taskCount: 0)).eraseToAny()
  }

  @Test(arguments: Seeds.first(10)) @MainActor
  func `is an array with insertions anywhere`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var numbers = Array(0..<random.below(3000))
    let mocks = MockObjects(numbers.map(mock))
    let results = FetchedResults(.mockObjects(mocks))
    try await wait { results.count == numbers.count }
    for number in 10_000..<11_500 {
      let index = random.below(numbers.count + 1)
      numbers.insert(number, at: index)
      mocks.insert(mock(number), at: index)
      guard random.oneIn(100) else { continue }
      let removed = random.pick(numbers)
      numbers.removeAll { $0 == removed }
      mocks.remove(.integer(removed))
    }
    try await wait { results.count == numbers.count }
    #expect(results.map(\.id) == numbers.map { WrappedID.integer($0) })
    #expect(mocks.objects.map(\.id) == numbers.map { WrappedID.integer($0) })
    // The same objects in another order are another sequence, the same ones are not.
    let change = results.change
    mocks.update { $0.swapAt(0, $0.count - 1) }
    numbers.swapAt(0, numbers.count - 1)
    try await wait { results[0].id == .integer(numbers[0]) }
    #expect(results.map(\.id) == numbers.map { WrappedID.integer($0) })
    #expect(change != nil)
  }
}
