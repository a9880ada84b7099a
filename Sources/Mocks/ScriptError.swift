/// The reason why a mock cannot be served, with the place in its file.
package struct ScriptError: Error, Equatable, CustomStringConvertible {
  package let description: String

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - place: The path in the file, like `timeline[1].at`, or a line; empty for the whole file.
  ///   - reason: A sentence about the place.
  init(_ place: String, _ reason: String) {
    description = place.isEmpty ? reason : "\(place): \(reason)"
  }
}
