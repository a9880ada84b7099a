/// Why a channel cannot be had.
package struct TransportError: Error, Sendable {
  package enum Code: String, Sendable {
    case invalidPath
    case insecureFolder
    case alreadyServed
    case cannotListen
    case cannotConnect
  }

  package let code: Code
  /// One sentence: what failed, on what.
  package let message: String
  /// What to do about it, nil where nothing can be said.
  package let hint: String?

  package init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }
}
