import Interruptions
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

/// Reading an earlier state inside a snapshot, which continues at its own state after that.
@Suite struct `An earlier state inside a snapshot` {
  private static let objectCount = 150

  /// Makes a store with tasks and groups that two commits have changed, and returns the position of
  /// the first commit.
  private func make() async throws -> (store: TestStore, first: LogPosition) {
    let store = try TestStore(TestModels.todo)
    let objects = ["Task", "Group"].flatMap { entity in
      (1...Self.objectCount).map { #"{"id":"\#(entity)/t\#($0)","values":{"title":"a"}}"# }
    }
    try await store.save(#"{"insert":[\#(objects.joined(separator: ","))]}"#)
    let first = try store.snapshot { $0.head.position }
    let updates = ["Task", "Group"].flatMap { entity in
      (1...Self.objectCount).map { #"{"id":"\#(entity)/p\#($0)","values":{"title":"b"}}"# }
    }
    try await store.save(#"{"update":[\#(updates.joined(separator: ","))]}"#)
    return (store, first)
  }

  /// The numbers of tasks and groups with a title.
  private func counts(_ title: String, _ snapshot: StoreSnapshot) throws -> [Int64] {
    try ["Task", "Group"].map { entity in
      let fetch = #"{"entity":"\#(entity)","predicate":"title == '\#(title)'"}"#
      return try snapshot.count(snapshot.plan(FetchRequest(try JSONParser.parse(fetch))))
    }
  }

  // Evidence: P-017a, P-084c
  @Test func `that is stopped anywhere leaves the snapshot as it was`() async throws {
    let (store, first) = try await make()
    let reader = try store.store.makeReader()
    defer { reader.whenChecked(nil) }
    let all = [Int64(Self.objectCount), Int64(Self.objectCount)]
    var stops = 0
    var isStopped = true
    while isStopped {
      // Until the reading ends before this number of SQLite's checks.
      stops += 1
      var left = stops
      let interruption = Interruption()
      try reader.snapshot { snapshot in
        reader.whenChecked {
          left -= 1
          if left == 0 { interruption.stop(.cancelled) }
        }
        do {
          try snapshot.stopping(by: interruption) {
            let former = try snapshot.earlier(first) { try counts("a", $0) }
            #expect(former == all)
          }
          isStopped = interruption.reason != nil
        } catch is Interrupted {}
        reader.whenChecked(nil)
        #expect(try counts("b", snapshot) == all, "after \(stops) checks")
      }
    }
    #expect(stops > 3)
  }

  // Evidence: P-070e
  @Test func `hides the changes afterwards that the snapshot hides`() async throws {
    let (store, first) = try await make()
    try store.foreign("UPDATE Task SET title = 'c'")
    let reader = try store.store.makeReader()
    let all = [Int64(Self.objectCount), Int64(Self.objectCount)]
    try reader.snapshot(hidingUnsealed: true) { snapshot in
      #expect(try counts("b", snapshot) == all)
      let former = try snapshot.earlier(first) { try counts("a", $0) }
      #expect(former == all)
      #expect(try counts("b", snapshot) == all)
      #expect(try counts("c", snapshot) == [0, 0])
    }
  }
}
