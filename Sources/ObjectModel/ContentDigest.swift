import Crypto

/// The SHA-256 digest of bytes; equal digests mean equal bytes.
package struct ContentDigest: Hashable, Sendable {
  private let digest: SHA256Digest

  /// Creates the digest of bytes.
  package init(_ bytes: some Collection<UInt8>) {
    var state = SHA256()
    let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { storage in
      unsafe state.update(bufferPointer: UnsafeRawBufferPointer(storage))
    }
    if isContiguous == nil { state.update(data: Array(bytes)) }
    digest = state.finalize()
  }

  /// The digest as 64 hexadecimal digits in lower case.
  package var hexadecimal: String {
    digest.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }.joined()
  }
}

extension ContentDigest {
  /// The digest of bytes that arrive in parts.
  package struct Stream {
    private var state = SHA256()

    package init() {}

    /// Adds the next bytes.
    package mutating func add(_ bytes: [UInt8]) { state.update(data: bytes) }

    /// The first eight bytes of the digest of all bytes so far.
    package var prefix: UInt64 { ContentDigest(state.finalize()).prefix }

    /// The digest of all bytes so far, as 64 hexadecimal digits in lower case.
    package var hexadecimal: String { ContentDigest(state.finalize()).hexadecimal }
  }

  private init(_ digest: SHA256Digest) { self.digest = digest }
}

extension ContentDigest {
  /// The first eight bytes of the digest, for digests that many rows keep in memory.
  package var prefix: UInt64 {
    digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
