import JSON
import ObjectModel
import PersistentStore

/// The updated rows that the updates of one step share, each encoded once.
final class EncodedRows {
  /// The rows of one form: of fetches that return the same values of an entity.
  final class Form {
    fileprivate(set) var rows: [Int64: [UInt8]] = [:]
  }

  /// The maximum length of all rows that are kept, in bytes.
  private static let bytesMax = 16 << 20

  private var forms: [String: Form] = [:]
  private var bytes = 0

  /// Returns the rows of the form of a plan.
  func form(of plan: FetchPlan) -> Form {
    let request = plan.request
    let select = request.select.map { "\($0)" } ?? ""
    let name = "\(plan.entity.number) \(request.subentities) \(select)"
    if let known = forms[name] { return known }
    let form = Form()
    forms[name] = form
    return form
  }

  /// Writes the end of a row, which does not depend on its offset.
  ///
  /// - Parameters:
  ///   - object: The number of the row's object.
  ///   - form: The rows of its form.
  ///   - writer: The writer of the update.
  ///   - body: Writes the row where it is not known yet.
  /// - Throws: The errors of the body.
  func write(
    _ object: Int64,
    of form: Form,
    to writer: inout JSONWriter,
    _ body: (inout JSONWriter) throws -> Void
  ) throws {
    if let known = form.rows[object] { return writer.raw(known) }
    let start = writer.bytes.count
    try body(&writer)
    let length = writer.bytes.count - start
    guard bytes + length <= Self.bytesMax else { return }
    bytes += length
    form.rows[object] = Array(writer.bytes[start...])
  }
}
