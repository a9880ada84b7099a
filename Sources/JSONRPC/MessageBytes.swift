package import JSON

/// The bytes of one message, in pieces.
///
/// A long message is never stored in one array, because an array is copied each time it grows.
package struct MessageBytes: Sendable {
  package private(set) var pieces: [[UInt8]]
  /// The number of bytes in all pieces.
  package private(set) var count: Int

  /// Creates a message of one piece.
  package init(_ bytes: [UInt8]) {
    pieces = [bytes]
    count = bytes.count
  }

  /// Creates a message from the bytes of a writer.
  package init(_ writer: JSONWriter) {
    pieces = writer.pieces
    count = writer.count
  }

  package var isEmpty: Bool { count == 0 }

  /// Adds bytes at the end.
  package mutating func append(_ bytes: [UInt8]) {
    pieces.append(bytes)
    count += bytes.count
  }

  /// Adds another message's bytes at the end.
  package mutating func append(_ other: MessageBytes) {
    pieces += other.pieces
    count += other.count
  }
}
