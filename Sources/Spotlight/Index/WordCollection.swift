import CSpotlight

/// The distinct words and the token count of the documents that a writer of the index inserts.
///
/// Only the thread that uses the writer's connection uses the collection.
@safe final class WordCollection: @unchecked Sendable {
  let pointer: OpaquePointer

  init() {
    guard let pointer = unsafe spotlight_words_create() else {
      fatalError("There is no memory for the words of an index")
    }
    unsafe self.pointer = pointer
  }

  deinit {
    unsafe spotlight_words_free(pointer)
  }

  /// Forgets the words that the writer has taken, because the writer may not have stored them.
  func forget() {
    unsafe spotlight_words_forget(pointer)
  }

  /// Returns the token count of the documents that were inserted since the last call.
  func takeTokenCount() -> Int64 { unsafe spotlight_words_take_count(pointer) }

  /// Returns the new words that were collected since the last call; a word may occur repeatedly.
  func take() -> [String] {
    var size: Int32 = 0
    guard let bytes = unsafe spotlight_words_take(pointer, &size), size > 0 else { return [] }
    let words = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(size))
    return unsafe words.split(separator: UInt8(SPOTLIGHT_TOKEN_END)).map {
      unsafe String(decoding: $0, as: UTF8.self)
    }
  }
}
