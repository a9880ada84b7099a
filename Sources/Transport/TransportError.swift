/// The reason why a channel cannot be opened.
package struct TransportError: Error, Sendable {
  package enum Code: String, Sendable {
    case invalidPath
    case insecureFolder
    case alreadyServed
    case cannotListen
    case cannotConnect
  }

  package let code: Code
  /// A sentence that states what failed and on which object.
  package let message: String
  /// Advice on how to correct the error, nil when there is none.
  package let hint: String?

  package init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }
}
