/// The reason why a channel cannot be opened.
package struct TransportError: Error, Sendable {
  package enum Code: String, Sendable {
    case invalidPath
    case insecureFolder
    case alreadyServed
    case cannotListen
    case cannotConnect
    /// The process or the system has too few file descriptors.
    case tooFewDescriptors
  }

  package let code: Code
  /// A sentence that states what failed and on which object.
  package let message: String
  /// Advice on how to correct the error, nil when there is none.
  package let hint: String?
  /// The path of the socket to which the caller cannot connect; nil for other errors.
  package let path: String?

  package init(_ code: Code, _ message: String, hint: String? = nil, path: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
    self.path = path
  }
}
