import Glibc

/// The identity of the file at a path; another file may have the same path later.
package struct FileIdentity: Equatable, Sendable {
  private let device: dev_t
  private let inode: ino_t

  private init(_ facts: stat) {
    device = facts.st_dev
    inode = facts.st_ino
  }

  /// Creates the identity of the file at a path; nil when there is no file.
  package init?(_ path: String) {
    var facts = stat()
    guard unsafe stat(path, &facts) == 0 else { return nil }
    self.init(facts)
  }

  /// Returns the identity and the size in bytes of the file, or the symbolic link, at a path; nil
  /// when there is none.
  static func entry(at path: String) -> (identity: FileIdentity, bytes: Int)? {
    var facts = stat()
    guard unsafe lstat(path, &facts) == 0 else { return nil }
    return (FileIdentity(facts), Int(facts.st_size))
  }

  /// Returns whether a folder in the path denies access; the file may then still exist.
  static func isHidden(_ path: String) -> Bool {
    var facts = stat()
    return unsafe stat(path, &facts) != 0 && errno == EACCES
  }

  /// Returns a path without symbolic links; the same path if there is no file.
  static func resolved(_ path: String) -> String {
    guard let real = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }
}
