import Glibc

/// Counts what happens to the files of a folder, so that a test can act in the middle of it.
final class FolderWatch {
  /// Readable when something happened.
  let descriptor: Int32
  private(set) var count = 0

  init(_ path: String) throws {
    descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
    let events = IN_OPEN | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO
    guard descriptor >= 0, unsafe inotify_add_watch(descriptor, path, UInt32(events)) >= 0 else {
      throw Failure("watching \(path): errno \(errno)")
    }
  }

  deinit { close(descriptor) }

  /// Takes in what the kernel has told.
  func readEvents() {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let size = unsafe read(descriptor, &buffer, buffer.count)
      guard size > 0 else { return }
      var place = 0
      while place < size {
        // A name follows the event, as long as its last field says.
        let event = unsafe buffer.withUnsafeBytes {
          unsafe $0.loadUnaligned(fromByteOffset: place, as: inotify_event.self)
        }
        place += MemoryLayout<inotify_event>.size + Int(event.len)
        count += 1
      }
    }
  }

  /// Counts from 0 again; what the kernel has not told yet is not counted.
  func restart() {
    readEvents()
    count = 0
  }
}
