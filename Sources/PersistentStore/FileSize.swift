import Glibc

/// The sizes of files.
package enum FileSize {
  /// The bytes of files together; one that is not there counts none.
  package static func of(_ paths: [String]) -> Int {
    paths.reduce(0) { sum, path in
      var facts = stat()
      guard unsafe stat(path, &facts) == 0 else { return sum }
      return sum + Int(facts.st_size)
    }
  }
}
