import CSpotlight

/// One token of a text; offsets are in bytes of its UTF-8.
struct Token: Equatable {
  let text: String
  let start: Int
  let end: Int
  /// Whether the token has the position of the token before it.
  let isColocated: Bool
}

/// The Swift interface of the tokenizer that FTS5 uses.
enum Tokens {
  /// Splits a text into tokens as the index does, with `isQuery` as for a search query.
  static func split(_ text: String, isQuery: Bool = false) -> [Token] {
    var text = text
    var tokens: [Token] = []
    text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe withUnsafeMutablePointer(to: &tokens) { list in
          _ = unsafe spotlight_tokenize(
            characters.baseAddress,
            Int32(characters.count),
            isQuery ? Int32(SPOTLIGHT_QUERY) : 0,
            list
          ) { context, token, length, start, end, isColocated in
            guard let context = unsafe context, let token = unsafe token else { return 0 }
            let bytes = unsafe UnsafeRawBufferPointer(start: token, count: Int(length))
            let list = unsafe context.assumingMemoryBound(to: [Token].self)
            unsafe list.pointee.append(
              Token(
                text: String(decoding: bytes, as: UTF8.self),
                start: Int(start),
                end: Int(end),
                isColocated: isColocated
              )
            )
            return 0
          }
        }
      }
    }
    return tokens
  }
}
