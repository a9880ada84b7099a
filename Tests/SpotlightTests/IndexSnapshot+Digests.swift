import CordialValues
import Spotlight

extension IndexSnapshot {
  /// Returns the digests of all documents, by object.
  ///
  /// - Parameter portionMax: The number of documents in memory at the same time; nil for the
  ///   default.
  /// - Returns: The digests.
  /// - Throws: The errors of `eachDigest`.
  func digests(portionMax: Int? = nil) throws -> [ObjectKey: DocumentDigest] {
    var digests: [ObjectKey: DocumentDigest] = [:]
    try eachDigest(portionMax: portionMax) { documents in
      for (key, digest) in documents { digests[key] = digest }
    }
    return digests
  }
}
