package import Cordial
import CordialProtocol
package import JSON
import ObjectModel

/// The archive of a whole store: one file with the model, the objects and their binary values.
///
/// Each line is JSON:
/// - The first line is `{"archive":1,"model":{…}}`.
/// - Each object has the form of an export, and follows the lines of its binary values,
///   `{"binary":"base64","property":"photo"}`.
/// - The last line is `{"objects":3,"digest":"…"}`, with the SHA-256 of all earlier lines.
///
/// An archive with the history begins with `{"archive":2,"model":{…}}` and has the whole content of
/// the store instead of the objects.
package enum Archive {
  /// The versions of the two forms: with objects alone, and with the history.
  private static let versions: (objects: Int64, history: Int64) = (1, 2)

  /// The maximum length of a line of an archive with the history, in bytes.
  static let contentLineBytesMax = 1 << 30
  /// The number of first bytes that identify an archive.
  static let startBytes = 16

  /// Returns whether these are the first bytes of an archive.
  static func isStart(_ bytes: [UInt8]) -> Bool { bytes.starts(with: #"{"archive":"#.utf8) }

  /// The contents of a complete archive.
  package struct Contents {
    /// The model's document.
    package let model: JSONValue
    /// Whether the lines are the whole content of a store, with its history.
    package let hasHistory: Bool
    /// The archive's file, which `Importer.run` can read.
    package let lines: any InputFile
    /// The byte range of the lines between the first line and the last line.
    package let range: Range<Int>

    /// The content of a store, line by line, from the second line on.
    ///
    /// A line may be very long, because a row may contain any value that SQLite stores.
    package var content: InputLines {
      InputLines(lines, in: range, firstNumber: 2, lineBytesMax: contentLineBytesMax)
    }
  }

  // MARK: Writing

  /// A writer of the lines of an archive, which computes their digest.
  private struct Lines {
    private var digest = ContentDigest.Stream()
    private let write: (String) -> Void

    init(_ write: @escaping (String) -> Void) { self.write = write }

    mutating func add(_ line: JSONValue) {
      let text = line.text
      digest.add(Array((text + "\n").utf8))
      write(text)
    }

    /// Writes the last line, with the number of objects and the digest.
    func end(_ objects: Int64) {
      write(
        JSONValue.object([
          JSONMember(.objects, .integer(objects)),
          JSONMember("digest", .string(digest.hexadecimal)),
        ]).text
      )
    }
  }

  /// Writes an archive with the whole content of a store.
  ///
  /// - Parameters:
  ///   - model: The model's document.
  ///   - content: Passes each part of the content to the given function, and returns the number of
  ///     objects.
  ///   - write: Called with each line, without its line end.
  /// - Throws: The errors of `content`.
  package static func run(
    _ model: JSONValue,
    _ content: ((JSONValue) throws -> Void) throws -> Int64,
    _ write: (String) -> Void
  ) throws {
    try withoutActuallyEscaping(write) { write in
      var lines = Lines(write)
      lines.add(["archive": .integer(versions.history), "model": model])
      let objects = try content { lines.add($0) }
      lines.end(objects)
    }
  }

  /// Writes an archive of objects, without the history.
  ///
  /// - Parameters:
  ///   - client: A client of the service.
  ///   - write: Called with each line, without its line end.
  /// - Throws: `PortingError` if another client writes to the store meanwhile; `ClientError`.
  package static func run(
    from client: ClientConnection,
    _ write: @escaping (String) -> Void
  ) async throws {
    let document = try await client.call(ModelCall()).json
    let model = try ModelDocument.model(from: document)
    let binary = binaryAttributes(of: model)
    var count: Int64 = 0
    var lines = Lines(write)
    lines.add(["archive": .integer(versions.objects), "model": document])
    try await Exporter.run([], from: client, ofOneCommit: true) { object in
      let entity = Exporter.entity(object) ?? ""
      let values = object[.values]?.members ?? []
      let members = model.entity(named: entity)?.expanded(values) ?? values
      let apart = members.filter { binary[entity]?.contains($0.name) == true && !$0.value.isNull }
      for member in apart { lines.add(["binary": member.value, "property": .string(member.name)]) }
      let names = Set(apart.map(\.name))
      let rest = members.filter { !names.contains($0.name) }
      lines.add(.object([.id: object[.id] ?? .null, .values: .object(rest.nested)]))
      count += 1
    }
    lines.end(count)
  }

  private static func binaryAttributes(of model: Model) -> [String: Set<String>] {
    Dictionary(
      uniqueKeysWithValues: model.entities.map { entity in
        (entity.name, Set(entity.attributes.filter { $0.type == .binary }.map(\.name)))
      }
    )
  }

  // MARK: Reading

  /// The maximum length of the last line, in bytes.
  private static let lastLineMax = 1024

  /// Returns whether a file begins or ends like an archive.
  ///
  /// - Throws: The errors of the file.
  package static func isArchive(_ file: any InputFile) throws -> Bool {
    if isStart(try file.bytes(in: 0..<min(file.count, startBytes))) { return true }
    return try file.bytes(in: lastLine(of: file)).starts(with: #"{"objects":"#.utf8)
  }

  /// Returns the range of the last line that is not empty; for a very long line, the range of its
  /// end.
  private static func lastLine(of file: any InputFile) throws -> Range<Int> {
    let first = max(0, file.count - lastLineMax)
    let tail = try file.bytes(in: first..<file.count)
    var end = tail.count
    while end > 0, tail[end - 1] == 0x0A { end -= 1 }
    let start = tail[..<end].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    return (first + start)..<(first + end)
  }

  /// Reads and checks a whole archive, so that an import uses no part of a damaged archive.
  ///
  /// - Parameter file: The file, which must not change until it is imported.
  /// - Returns: The contents of the archive.
  /// - Throws: `PortingError` for a file that was cut off or changed, or has another version; the
  ///   errors of the file.
  package static func read(_ file: any InputFile) throws -> Contents {
    let last = try lastLine(of: file)
    let cutOff = PortingError(
      "The archive is cut off: its last line is not the digest of the others; nothing is imported"
    )
    let text = try file.bytes(in: last)
    let end: JSONValue
    do {
      end = try JSONParser.parse(text.span)
    } catch {
      throw cutOff
    }
    guard last.lowerBound > 0, let digest = end["digest"]?.string,
      let count = end[.objects]?.integer
    else { throw cutOff }
    guard try digest == self.digest(of: file, upTo: last.lowerBound) else {
      throw PortingError(
        "The archive is damaged: its digest is not that of its \(count) objects; nothing is "
          + "imported"
      )
    }
    return try contents(file, upTo: last.lowerBound, count)
  }

  private static func digest(of file: any InputFile, upTo end: Int) throws -> String {
    var digest = ContentDigest.Stream()
    for start in stride(from: 0, to: end, by: 1 << 20) {
      digest.add(try file.bytes(in: start..<min(start + (1 << 20), end)))
    }
    return digest.hexadecimal
  }

  private static func contents(
    _ file: any InputFile,
    upTo end: Int,
    _ count: Int64
  ) throws -> Contents {
    var lines = InputLines(file, in: 0..<end)
    guard let head = try lines.next() else { throw otherForm }
    let first = try parsed(head)
    let form = first["archive"]?.integer
    guard let model = first[.model], form == versions.objects || form == versions.history else {
      throw otherForm
    }
    let contents = Contents(
      model: model,
      hasHistory: form == versions.history,
      lines: file,
      range: min(head.bytes.count + 1, end)..<end
    )
    guard !contents.hasHistory else { return contents }
    let found = try countOfObjects(in: file)
    guard found == count else {
      throw PortingError(
        "The archive is damaged: it has \(found) objects, not \(count); nothing is imported"
      )
    }
    return contents
  }

  /// Checks the form of all objects, and returns their number.
  ///
  /// - Throws: `PortingError` for a line that is no valid object; the errors of the file.
  private static func countOfObjects(in file: any InputFile) throws -> Int64 {
    var lines = try ObjectLines(file)
    var count: Int64 = 0
    do {
      while case let objects = try lines.next(1000), !objects.isEmpty {
        for object in objects {
          guard let objection = object.objection else { continue }
          throw PortingError("Line \(object.line) \(objection)")
        }
        count += Int64(objects.count)
      }
    } catch let error as PortingError {
      throw PortingError("The archive is damaged: \(error.message); nothing is imported")
    }
    return count
  }

  private static let otherForm = PortingError(
    "The archive has a form of another version of Cordial"
  )

  private static func parsed(_ line: InputLines.Line) throws -> JSONValue {
    do {
      return try JSONParser.parse(line.bytes.span)
    } catch {
      throw PortingError(
        "Line \(line.number) of the archive: \(error.message); nothing is imported"
      )
    }
  }
}
