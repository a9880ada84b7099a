import Glibc

/// The sizes of files.
package enum FileSize {
  /// Returns the total size of files in bytes; a missing file counts as empty.
  package static func of(_ paths: [String]) -> Int {
    paths.reduce(0) { sum, path in
      var facts = stat()
      guard unsafe stat(path, &facts) == 0 else { return sum }
      return sum + Int(facts.st_size)
    }
  }
}
