import CDigest

/// The SHA-256 digest of bytes; equal digests mean equal bytes.
package struct ContentDigest: Hashable, Sendable {
  private let bytes: [UInt8]

  /// Creates the digest of bytes.
  package init(_ bytes: some Collection<UInt8>) {
    var stream = Stream()
    let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { storage in
      unsafe stream.add(storage)
    }
    if isContiguous == nil { stream.add(Array(bytes)) }
    self = stream.digest
  }

  fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

  /// The digest as 64 hexadecimal digits in lower case.
  package var hexadecimal: String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }.joined()
  }
}

extension ContentDigest {
  /// The digest of bytes that arrive in parts.
  package struct Stream {
    private var state = SHA2_CTX()

    package init() { unsafe SHA256Init(&state) }

    /// Adds the next bytes.
    package mutating func add(_ bytes: [UInt8]) {
      unsafe bytes.withUnsafeBufferPointer { unsafe add($0) }
    }

    fileprivate mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
      unsafe SHA256Update(&state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all bytes so far.
    package var digest: ContentDigest {
      var ended = state
      return ContentDigest(
        bytes: unsafe [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) {
          digest,
          count in
          unsafe SHA256Final(digest.baseAddress, &ended)
          count = Int(SHA256_DIGEST_LENGTH)
        }
      )
    }

    /// The digest of all bytes so far, as 64 hexadecimal digits in lower case.
    package var hexadecimal: String { digest.hexadecimal }
  }
}
