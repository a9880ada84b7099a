import Glibc

/// The identity of the file at a path; another file may have the same path later.
package struct FileIdentity: Equatable, Sendable {
  private let device: dev_t
  private let inode: ino_t

  /// Creates the identity of the file at a path; nil when there is no file.
  package init?(_ path: String) {
    var facts = stat()
    guard unsafe stat(path, &facts) == 0 else { return nil }
    device = facts.st_dev
    inode = facts.st_ino
  }
}
