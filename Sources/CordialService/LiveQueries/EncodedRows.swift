import JSON
import ObjectModel
import PersistentStore

/// The updated rows that updates from one position share, each encoded once.
final class EncodedRows {
  /// The rows of one form: of fetches that return the same values of an entity.
  final class Form {
    private var rows: [Int64: [UInt8]] = [:]

    /// Returns the end of a row, which does not depend on its offset.
    ///
    /// - Parameters:
    ///   - object: The number of the row's object.
    ///   - body: Writes the row where it is not known yet.
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
}
