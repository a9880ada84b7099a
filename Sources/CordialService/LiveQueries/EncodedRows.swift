import JSON
import ObjectModel
import PersistentStore

/// A cache of the encoded rows that updates from one position share.
final class EncodedRows {
  /// The rows for fetches that return the same values of an entity.
  final class Form {
    private var rows: [Int64: [UInt8]] = [:]

    /// Returns the encoded end of a row: the part that does not depend on the row's offset.
    ///
    /// - Parameters:
    ///   - object: The object number of the row.
    ///   - body: Writes the row if the cache does not have it yet.
    /// - Returns: The bytes.
    /// - Throws: The errors of the body.
    func row(_ object: Int64, _ body: (inout JSONWriter) throws -> Void) throws -> [UInt8] {
      if let known = rows[object] { return known }
      var writer = JSONWriter(reserving: 256)
      try body(&writer)
      rows[object] = writer.bytes
      return writer.bytes
    }
  }

  private var forms: [String: Form] = [:]

  /// Returns the cached rows of all fetches that return the same values as a plan.
  func form(of plan: FetchPlan) -> Form {
    let request = plan.request
    let select = request.select.map { "\($0)" } ?? ""
    let name = "\(plan.entity.number) \(request.subentities) \(select)"
    if let known = forms[name] { return known }
    let form = Form()
    forms[name] = form
    return form
  }
}
