import Foundation
import Synchronization

/// A folder of one test, deleted with its contents when the test releases it.
package final class TestFolder: Sendable {
  package let path: String

  private static let made = Atomic<Int>(0)

  /// Creates an empty folder below the system's folder for temporary files.
  package init() throws {
    let number = Self.made.add(1, ordering: .relaxed).newValue
    let name = "cordial-test-\(ProcessInfo.processInfo.processIdentifier)-\(number)"
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    if FileManager.default.fileExists(atPath: folder.path) {
      try FileManager.default.removeItem(at: folder)
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      print("\(path) cannot be removed: \(error)")
    }
  }
}
