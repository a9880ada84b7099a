import CordialProtocol
import JSON

/// The objects of an archive, or of a file with one object on each line.
///
/// In an archive, lines with binary values precede the line of their object.
struct ObjectLines {
  /// An object of the file.
  struct Object {
    /// The number of the line.
    let line: Int
    /// The bytes of the object in the file, with its binary values.
    let range: Range<Int>
    let object: JSONValue

    var id: String? { object[.id]?.string }

    /// The reason why the line cannot be imported, as the rest of a sentence; nil for a valid line.
    var objection: String? {
      guard let members = object.members else { return "is not an object" }
      if let unknown = members.first(where: { !$0.isOne(of: .id, .entity, .values, .version) }) {
        // A fetch also returns the version, and an import ignores it.
        return "has the unknown member \(unknown.name); known members are id, entity and values"
      }
      if let values = object[.values], !values.isNull, values.members == nil {
        return "has values that are not an object"
      }
      return Exporter.entity(object) == nil ? "has neither an id nor an entity" : nil
    }
  }

  /// The total length of lines, in bytes, at which a portion ends; parsed values take several times
  /// the memory.
  static let portionBytesMax = 4 << 20

  private var lines: InputLines
  private let isArchive: Bool

  /// Begins to read a file.
  init(_ file: any InputFile) throws {
    lines = InputLines(file)
    isArchive = try Archive.isArchive(file)
  }

  private init(_ file: any InputFile, in range: Range<Int>, line: Int) {
    lines = InputLines(file, in: range, firstNumber: line)
    isArchive = true
  }

  /// Reads an object again.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - range: The bytes of the object in the file.
  ///   - line: The number of its line.
  /// - Returns: The object.
  /// - Throws: `PortingError` if the file has changed; the errors of the file.
  static func object(
    of file: any InputFile,
    in range: Range<Int>,
    line: Int
  ) throws -> Object {
    var lines = ObjectLines(file, in: range, line: line)
    guard let object = try lines.next(1).first else {
      throw PortingError("Line \(line) has changed during the import")
    }
    return Object(line: line, range: range, object: object.object)
  }

  /// Returns the next objects, at most `count`; none at the end.
  ///
  /// - Throws: `PortingError` for a line that is not JSON, and for a binary value without an
  ///   object; the errors of the file.
  mutating func next(_ count: Int) throws -> [Object] {
    var objects: [Object] = []
    var bytes = 0
    var values: [JSONMember] = []
    var first: Int?
    while objects.count < count, bytes < Self.portionBytesMax, let line = try lines.next() {
      guard !line.bytes.isEmpty else { continue }
      let object: JSONValue
      do {
        object = try JSONParser.parse(line.bytes.span)
      } catch {
        throw PortingError("Line \(line.number): \(error.message)")
      }
      // A long first line must not end a portion, because a portion without objects means the end
      // of the file.
      if isArchive, Self.isFrame(object) { continue }
      bytes += line.bytes.count
      let start = first ?? line.offset
      let end = line.offset + line.bytes.count
      if isArchive, let value = object["binary"], let property = object[.property]?.string {
        guard end - start <= InputLines.lineBytesMax else {
          throw PortingError("The object of line \(line.number) is too long")
        }
        values.append(JSONMember(property, value))
        first = start
        // A portion must not end between the values of an object and the object itself.
        bytes = min(bytes, Self.portionBytesMax - 1)
        continue
      }
      objects.append(
        Object(line: line.number, range: start..<end, object: Self.adding(values, to: object))
      )
      values = []
      first = nil
    }
    guard values.isEmpty else {
      throw PortingError("The last line is a binary value, without its object")
    }
    return objects
  }

  /// Returns whether a line is the first or the last line of an archive.
  private static func isFrame(_ object: JSONValue) -> Bool {
    object["archive"] != nil || object[.objects] != nil && object["digest"] != nil
  }

  private static func adding(_ values: [JSONMember], to object: JSONValue) -> JSONValue {
    guard !values.isEmpty else { return object }
    return .object([
      .id: object[.id] ?? .null, .values: .object((object[.values]?.members ?? []) + values),
    ])
  }
}
