/// A digest of a part of a result, which is compared with the digest of a later result after the
/// bytes are dropped.
///
/// A digest is valid only in this process, because Swift's hash function has a random key in each
/// process. Clients therefore cannot choose values with equal digests. On average, one of 2^64
/// changes of rows stays unnoticed.
struct ResultDigest {
  private var hasher = Hasher()

  /// Adds the next bytes.
  mutating func add(_ bytes: some Collection<UInt8>) {
    let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { storage in
      unsafe hasher.combine(bytes: UnsafeRawBufferPointer(storage))
    }
    if isContiguous == nil {
      for byte in bytes { hasher.combine(byte) }
    }
  }

  /// The digest of all bytes so far.
  var value: UInt64 { UInt64(bitPattern: Int64(hasher.finalize())) }
}

extension UInt64 {
  /// Creates the digest of bytes.
  init(digestOf bytes: some Collection<UInt8>) {
    var digest = ResultDigest()
    digest.add(bytes)
    self = digest.value
  }
}
