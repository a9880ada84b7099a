import ObjectModel
import PersistentStore
import TestStores
import Testing

/// Stores of earlier programs, which named a model's versions by FNV-1a.
@Suite struct `A store that remembers earlier hashes` {
  private let folder: TestFolder
  private let first = Self.model(1, #"{"name":"text","type":"string"}"#)
  private let second = Self.model(
    2,
    #"{"name":"text","type":"string"},{"name":"rank","type":"int64","optional":true}"#
  )

  init() throws {
    folder = try TestFolder()
  }

  private static func model(_ version: Int, _ attributes: String) -> String {
    #"{"name":"Notes","version":"\#(version)","entities":[{"name":"Note","#
      + #""attributes":[\#(attributes)]}]}"#
  }

  // What the earlier program printed for the two versions.
  private let earlier = (first: "9f0cd5f77f353ffc", second: "a59db2cc664e66df")

  @Test func `it opens with its model and migrates to the next version`() async throws {
    do {
      let store = try TestStore(first, in: folder)
      try await store.save(#"{"insert":[{"id":"Note/t1","values":{"text":"a"}}]}"#)
      try store.foreign(
        "UPDATE cordial_meta SET value = '\(earlier.first)' WHERE name = 'modelHash'"
      )
    }
    do {
      let store = try TestStore(first, in: folder)
      #expect(try store.rows("SELECT text FROM Note") == ["a"])
    }
    let migrated = try TestStore(second, in: folder)
    #expect(try migrated.rows("SELECT text FROM Note WHERE rank IS NULL") == ["a"])
    #expect(migrated.store.model.hash.utf8.count == 64)
  }

  // Evidence: P-118b
  @Test func `it refuses a version that it had before`() async throws {
    do {
      let store = try TestStore(second, in: folder)
      try store.foreign(
        """
        UPDATE cordial_meta SET value = '\(earlier.second)' WHERE name = 'modelHash';
        INSERT OR REPLACE INTO cordial_meta VALUES ('formerHashes', '\(earlier.first)')
        """
      )
    }
    let error = #expect(throws: StoreError.self) { try TestStore(first, in: folder) }
    #expect(error?.code == .modelMismatch)
    #expect(error?.message.contains("newer") == true)
    #expect(try TestStore(second, in: folder).store.model.version == "2")
  }
}
