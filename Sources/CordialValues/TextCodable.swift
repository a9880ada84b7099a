/// A value that is encoded as its text.
///
/// Decoding any other text fails with a `DecodingError` that quotes the text.
public protocol TextCodable: Codable, LosslessStringConvertible {}

extension TextCodable {
  /// Encodes the text of the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Decodes a value from its text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Self(text) else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription: "\"\(text)\" is not the text of a value of \(Self.self)"
      )
    }
    self = value
  }
}
