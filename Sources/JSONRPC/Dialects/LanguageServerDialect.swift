extension Dialect {
  /// The base protocol of LSP, as editors speak it.
  package static let languageServer = Dialect(
    framing: .header,
    needsHandshake: true,
    keepsOrder: false,
    allowsBatches: false,
    needsShutdown: true
  )
}
