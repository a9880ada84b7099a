import CStemmer

/// A stemmer of Snowball, which removes the endings of the words of one language.
///
/// One thread at a time uses a stemmer.
@safe package final class Stemmer {
  private let handle: OpaquePointer

  /// The names of the languages in English, sorted; a language also has its codes of ISO 639.
  package static var languages: [String] {
    var names: [String] = []
    guard var next = unsafe sb_stemmer_list() else { return names }
    while let name = unsafe next.pointee {
      names.append(unsafe String(cString: name))
      unsafe next += 1
    }
    return names.sorted()
  }

  /// Creates a stemmer; nil for a language that Snowball does not have.
  ///
  /// - Parameter language: A name or a code of a language, in lower case.
  package init?(language: String) {
    guard let handle = unsafe sb_stemmer_new(language, nil) else { return nil }
    unsafe self.handle = handle
  }

  deinit {
    unsafe sb_stemmer_delete(handle)
  }

  /// Returns the stem of a word in lower case, in UTF-8.
  package func stem(_ word: some Sequence<UInt8>) -> [UInt8] {
    unsafe withStem(Array(word)[...]) { unsafe Array($0) }
  }

  /// Returns whether a word in lower case has a stem, in UTF-8.
  package func hasStem(_ word: ArraySlice<UInt8>, _ stem: [UInt8]) -> Bool {
    unsafe withStem(word) { unsafe $0.elementsEqual(stem) }
  }

  private func withStem<Result>(
    _ word: ArraySlice<UInt8>,
    _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result {
    unsafe word.withUnsafeBufferPointer { word in
      let stem = unsafe sb_stemmer_stem(handle, word.baseAddress, Int32(clamping: word.count))
      // There is no stem where there is no memory for it.
      guard let stem = unsafe stem else { return unsafe body(word) }
      let count = unsafe Int(sb_stemmer_length(handle))
      return unsafe body(UnsafeBufferPointer(start: stem, count: count))
    }
  }
}
