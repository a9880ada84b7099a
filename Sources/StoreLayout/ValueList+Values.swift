package import CordialValues
package import SQLite

extension ValueList {
  /// Appends a value in its stored form.
  package mutating func append(_ value: AttributeValue) {
    switch value {
    case .null: appendNull()
    case .integer(let number), .date(let number): append(number)
    case .double(let number): append(number)
    case .boolean(let flag): append(flag ? 1 : 0 as Int64)
    case .binary(let bytes): append(bytes)
    case .string(let text), .decimal(let text), .uuid(let text), .uri(let text), .json(let text):
      append(text)
    }
  }
}
