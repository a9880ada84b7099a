import Cordial
import Porting

extension Importer {
  /// Returns the lines of JSON for comma-separated values of one entity.
  ///
  /// - Throws: As `writeLines`.
  static func lines(
    commaSeparated file: any InputFile,
    of name: String,
    for client: ClientConnection
  ) async throws -> [UInt8] {
    var lines: [UInt8] = []
    try await writeLines(commaSeparated: file, of: name, for: client) { lines += $0 }
    return lines
  }
}
