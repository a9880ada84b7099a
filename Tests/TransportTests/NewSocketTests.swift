import Glibc
import Synchronization
import TestStores
import Testing
import Transport

@Suite struct `A new socket` {
  /// In a process of its own, because the mask is that of the whole process.
  // Evidence: P-003a
  @Test func `is its owner's only, and changes no other file that is created meanwhile`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TestFolder()
      _ = umask(0)
      let loop = TransportLoop()
      let isDone = Atomic<Bool>(false)
      async let modes = Self.modesOfFolders(folder.path, until: isDone)
      defer { isDone.store(true, ordering: .relaxed) }
      for number in 1...100 {
        let path = folder.path + "/s\(number)"
        let listener = try await IdleOwner.listen(at: path, on: loop)
        var facts = stat()
        #expect(unsafe stat(path, &facts) == 0)
        #expect(facts.st_mode & 0o777 == 0o600)
        try await listener.close()
      }
      isDone.store(true, ordering: .relaxed)
      #expect(await modes == [0o700])
    }
  }

  /// The modes of folders that are created for the owner only until they are enough.
  private static func modesOfFolders(
    _ folder: String,
    until isDone: borrowing Atomic<Bool>
  ) async -> Set<mode_t> {
    var modes: Set<mode_t> = []
    repeat {
      let path = folder + "/f"
      var facts = stat()
      guard unsafe mkdir(path, 0o700) == 0, unsafe stat(path, &facts) == 0 else { break }
      modes.insert(facts.st_mode & 0o777)
      unsafe rmdir(path)
      await Task.yield()
    } while !isDone.load(ordering: .relaxed)
    return modes
  }
}
