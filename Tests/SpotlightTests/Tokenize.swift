import CSpotlight

/// One token as the tokenizer cuts it; offsets are in bytes.
struct TokenizedWord: Equatable {
  let bytes: [UInt8]
  let start: Int
  let end: Int
  /// Whether it stands at the place of the token before it.
  let isColocated: Bool

  /// Whether it is a letter of a script without spaces at the beginning of a word.
  var isStart: Bool { bytes.first == UInt8(SPOTLIGHT_START_MARK) && bytes.count > 1 }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The token as a query has it.
  var unmarked: TokenizedWord {
    isStart
      ? TokenizedWord(
        bytes: Array(bytes.dropFirst()),
        start: start,
        end: end,
        isColocated: isColocated
      ) : self
  }
}

/// Cuts bytes as the index does, or as it does with a query.
func tokenize(_ bytes: [UInt8], isQuery: Bool = false) -> [TokenizedWord] {
  var tokens: [TokenizedWord] = []
  unsafe bytes.withUnsafeBufferPointer { buffer in
    unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
      unsafe withUnsafeMutablePointer(to: &tokens) { list in
        _ = unsafe spotlight_tokenize(
          characters.baseAddress,
          Int32(characters.count),
          isQuery ? Int32(SPOTLIGHT_QUERY_PARTS) : 0,
          list
        ) { context, token, length, start, end, isColocated in
          guard let context = unsafe context, let token = unsafe token else { return 0 }
          let bytes = unsafe Array(UnsafeRawBufferPointer(start: token, count: Int(length)))
          unsafe context.assumingMemoryBound(to: [TokenizedWord].self).pointee.append(
            TokenizedWord(bytes: bytes, start: Int(start), end: Int(end), isColocated: isColocated)
          )
          return 0
        }
      }
    }
  }
  return tokens
}

/// Cuts a text as the index does, or as it does with a query.
func tokenize(_ text: String, isQuery: Bool = false) -> [TokenizedWord] {
  tokenize(Array(text.utf8), isQuery: isQuery)
}
