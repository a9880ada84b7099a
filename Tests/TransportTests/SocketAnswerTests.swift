import Glibc
import Synchronization
import TestStores
import Testing
import Transport

/// An owner that does nothing.
final class IdleOwner: ByteChannelOwner {
  func opened(_ channel: ByteChannel) {}
  func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {}
  func inputEnded(on channel: ByteChannel) {}
  func becameWritable(_ channel: ByteChannel) {}
  func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {}
  func closed(_ channel: ByteChannel) {}

  /// Listens at a path for a new owner.
  static func listen(
    at path: String,
    on loop: TransportLoop
  ) async throws(TransportError) -> UnixSocketListener {
    try await UnixSocketListener(path: path, loop: loop, owner: IdleOwner(), stuckSecondsMax: 1)
  }
}

@Suite struct `A socket on which another process listens` {
  /// In a process of its own, because a limit is that of the whole process.
  // Evidence: P-003b
  @Test func `stays where no descriptor is left to find out whether it is answered`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TestFolder()
      let path = folder.path + "/s"
      let loop = TransportLoop()
      let first = try await IdleOwner.listen(at: path, on: loop)
      var facts = stat()
      #expect(unsafe stat(path, &facts) == 0)
      let inode = facts.st_ino
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      var limit = rlimit()
      #expect(unsafe getrlimit(resource, &limit) == 0)
      // No number is free below that of the next descriptor.
      limit.rlim_cur = rlim_t(dup(0))
      limit.rlim_max = limit.rlim_cur
      #expect(unsafe setrlimit(resource, &limit) == 0)
      do throws(TransportError) {
        _ = try await IdleOwner.listen(at: path, on: loop)
        Issue.record("It listens without a descriptor")
      } catch {
        #expect(error.code == .tooFewDescriptors)
      }
      #expect(unsafe stat(path, &facts) == 0)
      #expect(facts.st_ino == inode)
      try await first.close()
    }
  }
}
