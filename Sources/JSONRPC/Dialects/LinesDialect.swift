extension Dialect {
  /// One message on each line, as scripts send them: no handshake is needed, and responses come in
  /// the order of the requests.
  package static let lines = Dialect(
    framing: .line,
    needsHandshake: false,
    keepsOrder: true,
    allowsBatches: true,
    needsShutdown: false
  )
}
