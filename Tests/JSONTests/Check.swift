import JSON
import Testing

/// What the parser makes of bytes.
func parsed(_ bytes: [UInt8], depthMax: Int = 128) -> Result<JSONValue, JSONError> {
  do throws(JSONError) {
    return .success(try JSONParser.parse(bytes.span, depthMax: depthMax))
  } catch {
    return .failure(error)
  }
}

/// Expects that a text is taken, as this value.
///
/// Texts are compared as well as values, because Swift holds two strings equal that differ in
/// bytes, and -0.0 equal to 0.0.
func check(
  _ text: String,
  _ expected: JSONValue,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  let result = parsed(Array(text.utf8))
  #expect(result == .success(expected), "\(text)", sourceLocation: sourceLocation)
  if case .success(let value) = result {
    #expect(
      Array(value.text.utf8) == Array(expected.text.utf8),
      "\(text)",
      sourceLocation: sourceLocation
    )
  }
}

/// Expects that bytes are refused for this reason at this offset.
func refuses(
  _ bytes: [UInt8],
  _ code: JSONError.Code,
  at offset: Int,
  depthMax: Int = 128,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(
    parsed(bytes, depthMax: depthMax) == .failure(JSONError(code, at: offset)),
    "\(String(decoding: bytes, as: UTF8.self).debugDescription)",
    sourceLocation: sourceLocation
  )
}

/// Expects that a text is refused for this reason at this offset.
func refuses(
  _ text: String,
  _ code: JSONError.Code,
  at offset: Int,
  depthMax: Int = 128,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  refuses(
    Array(text.utf8),
    code,
    at: offset,
    depthMax: depthMax,
    sourceLocation: sourceLocation
  )
}
