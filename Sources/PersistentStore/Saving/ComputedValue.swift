import CordialValues
import ObjectModel

extension AttributeType {
  /// Returns a value that SQLite computed in the form in which an attribute of this type is stored;
  /// nil if the type does not have the value.
  func stored(_ computed: AttributeValue) -> AttributeValue? {
    switch (self, computed) {
    case (_, .null): .null
    case (.int16, .integer(let number)): Int16(exactly: number).map { .integer(Int64($0)) }
    case (.int32, .integer(let number)): Int32(exactly: number).map { .integer(Int64($0)) }
    case (.int64, .integer), (.double, .double), (.string, .string): computed
    case (.int16, .double(let number)), (.int32, .double(let number)),
      (.int64, .double(let number)):
      Int64(exactly: number).flatMap { stored(.integer($0)) }
    case (.double, .integer(let number)): Double(exactly: number).map { .double($0) }
    case (.float, .integer(let number)): .double(Double(Float(number)))
    case (.float, .double(let number)): .double(Double(Float(number)))
    case (.decimal, .integer(let number)): .decimal(String(number))
    case (.decimal, .string(let text)): .decimal(text)
    case (.boolean, .integer(let flag)): .boolean(flag != 0)
    case (.date, .integer(let milliseconds)): .date(milliseconds)
    case (.date, .double(let milliseconds)): Int64(exactly: milliseconds).map { .date($0) }
    case (.uuid, .string(let text)): .uuid(text)
    case (.uri, .string(let text)): .uri(text)
    case (.binary, .binary): computed
    case (.json, .string(let text)): .json(text)
    default: nil
    }
  }
}
