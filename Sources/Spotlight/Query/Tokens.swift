import CSpotlight

/// One token of a text; offsets are in bytes of its UTF-8.
struct Token: Equatable {
  let text: String
  let start: Int
  let end: Int
  /// Whether the token shares the position of the previous token.
  let isColocated: Bool
}

/// The Swift interface of the tokenizer that FTS5 uses.
enum Tokens {
  /// The flags of each way to divide the words of a query into tokens.
  private static let queryFlags = [
    SPOTLIGHT_QUERY_PARTS, SPOTLIGHT_QUERY_SEGMENTS, SPOTLIGHT_QUERY_WORDS, SPOTLIGHT_QUERY_WHOLES,
  ]

  /// Returns the phrases with which a query finds a text, the most divided phrase first.
  ///
  /// - Parameter text: A word or phrase of a query.
  /// - Returns: Distinct lists of tokens. A text without words has the list of its first symbol;
  ///   a text without words and symbols has none.
  static func phrases(_ text: String) -> [[String]] {
    var phrases: [[String]] = []
    for flags in queryFlags {
      let tokens = split(text, flags: Int32(flags)).filter { !$0.isColocated }.map(\.text)
      if !tokens.isEmpty, !phrases.contains(tokens) { phrases.append(tokens) }
    }
    return phrases.isEmpty ? symbols(text).prefix(1).map { [$0] } : phrases
  }

  /// Returns the distinct symbols of a query's text.
  static func symbols(_ text: String) -> [String] {
    var symbols: [String] = []
    for token in split(text, flags: Int32(SPOTLIGHT_QUERY_WHOLES)) where token.isColocated {
      if !symbols.contains(token.text) { symbols.append(token.text) }
    }
    return symbols
  }

  /// Returns the least divided words of a query's text.
  static func wholes(_ text: String) -> [Token] {
    split(text, flags: Int32(SPOTLIGHT_QUERY_WHOLES)).filter { !$0.isColocated }
  }

  /// Returns the form that a token has in the index at the beginning of a word.
  ///
  /// - Parameter token: A token of a query.
  /// - Returns: The token; nil for a token of a script with spaces.
  static func start(of token: String) -> String? {
    var text = token
    let isSingle = text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        guard let address = characters.baseAddress else { return false }
        return unsafe spotlight_is_single(address, Int32(characters.count))
      }
    }
    return isSingle ? startMark + token : nil
  }

  /// Returns whether a token of a query consists of punctuation alone.
  static func isPunctuation(_ token: String) -> Bool {
    var text = token
    return text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        guard let address = characters.baseAddress else { return false }
        return unsafe spotlight_is_punctuation(address, Int32(characters.count))
      }
    }
  }

  private static let startMark = String(UnicodeScalar(UInt8(SPOTLIGHT_START_MARK)))

  /// Returns whether a text of the file can be a token.
  ///
  /// A quote, a space or a control character would be syntax in a MATCH expression.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
  }

  /// Returns whether a word of documents is collected for searches with typing mistakes.
  static func isCollected(_ word: String) -> Bool {
    var text = word
    return text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        guard let address = characters.baseAddress else { return false }
        return unsafe spotlight_is_collected(address, Int32(characters.count))
      }
    }
  }

  /// Returns the count of token positions that the index has for a text.
  static func count(_ text: String) -> Int64 {
    var text = text
    return text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe spotlight_token_count(characters.baseAddress, Int32(characters.count))
      }
    }
  }

  /// Splits a text into tokens as the index does, but without the marks at beginnings of words.
  static func unmarked(_ text: String) -> [Token] {
    split(text, flags: Int32(SPOTLIGHT_UNMARKED))
  }

  /// Splits a text into tokens as the index does, or as `flags` say for a search query.
  static func split(_ text: String, flags: Int32 = 0) -> [Token] {
    var text = text
    var tokens: [Token] = []
    text.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        unsafe withUnsafeMutablePointer(to: &tokens) { list in
          _ = unsafe spotlight_tokenize(
            characters.baseAddress,
            Int32(characters.count),
            flags,
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
