package import Cordial
package import JSON
import ObjectModel

/// A whole store in one file: its model, its objects, and their binary values on own lines.
///
/// Each line is JSON: `{"archive":1,"model":{…}}` first; the objects as an export writes them, each
/// after the lines `{"binary":"base64","property":"photo"}` of its binary values; at last
/// `{"objects":3,"digest":"…"}` with the SHA-256 of all earlier lines.
///
/// An archive with the history begins with `{"archive":2,"model":{…}}` and has the whole content of
/// the store instead of the objects.
package enum Archive {
  /// The version of the form with objects alone, and of the form with the history.
  private static let versions: (objects: Int64, history: Int64) = (1, 2)

  /// The contents of an archive that is complete.
  package struct Contents: Sendable {
    /// The model's document.
    package let model: JSONValue
    /// Whether the lines are the whole content of a store, with its history.
    package let hasHistory: Bool
    /// The objects in the form of an export, each on the line that it has in the archive; or the
    /// content of the store.
    package let lines: [UInt8]
  }

  // MARK: Writing

  /// The lines of an archive on their way to its file, with their digest.
  private struct Lines {
    private var digest = ContentDigest.Stream()
    private let write: (String) -> Void

    init(_ write: @escaping (String) -> Void) { self.write = write }

    mutating func add(_ line: JSONValue) {
      let text = line.text
      digest.add(Array((text + "\n").utf8))
      write(text)
    }

    /// Writes the last line.
    func end(_ objects: Int64) {
      write(
        JSONValue.object([
          JSONMember("objects", .integer(objects)),
          JSONMember("digest", .string(digest.hexadecimal)),
        ]).text
      )
    }
  }

  /// Writes an archive with the whole content of a store.
  ///
  /// - Parameters:
  ///   - model: The model's document.
  ///   - content: Passes each part of the content to its argument, and returns the number of
  ///     objects.
  ///   - write: Called with each line, without its end.
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

  /// Writes an archive.
  ///
  /// - Parameters:
  ///   - client: A client of the service.
  ///   - write: Called with each line, without its end.
  /// - Throws: `PortingError` if another client writes meanwhile; `ClientError`.
  package static func run(
    from client: ClientConnection,
    _ write: @escaping (String) -> Void
  ) async throws {
    let document = try await client.call("model", [:])
    let model = try ModelDocument.model(from: document)
    let binary = binaryAttributes(of: model)
    var count: Int64 = 0
    var lines = Lines(write)
    lines.add(["archive": .integer(versions.objects), "model": document])
    try await Exporter.run([], from: client, ofOneCommit: true) { object in
      let entity = Exporter.entity(object) ?? ""
      let values = object["values"]?.members ?? []
      let members = model.entity(named: entity)?.expanded(values) ?? values
      let apart = members.filter { binary[entity]?.contains($0.name) == true && !$0.value.isNull }
      for member in apart { lines.add(["binary": member.value, "property": .string(member.name)]) }
      let names = Set(apart.map(\.name))
      let rest = members.filter { !names.contains($0.name) }
      lines.add(["id": object["id"] ?? .null, "values": .object(rest.nested)])
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

  /// Returns whether a file begins or ends as an archive does.
  package static func isArchive(_ bytes: [UInt8]) -> Bool {
    let start = lastLine(of: bytes).lowerBound
    return bytes.starts(with: #"{"archive":"#.utf8)
      || bytes[start...].starts(with: #"{"objects":"#.utf8)
  }

  /// Returns the range of the last line that is not empty.
  private static func lastLine(of bytes: [UInt8]) -> Range<Int> {
    var end = bytes.count
    while end > 0, bytes[end - 1] == 0x0A { end -= 1 }
    let start = bytes[..<end].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    return start..<end
  }

  /// Reads an archive as a whole, so that nothing of a damaged one is imported.
  ///
  /// - Parameter bytes: The file.
  /// - Returns: Its contents.
  /// - Throws: `PortingError` for a file that was cut off or changed, or has another version.
  package static func read(_ bytes: [UInt8]) throws -> Contents {
    let range = lastLine(of: bytes)
    let start = range.lowerBound
    let cutOff = PortingError(
      "The archive is cut off: its last line is not the digest of the others; nothing is imported"
    )
    let last: JSONValue
    do {
      last = try JSONParser.parse(bytes.span.extracting(range))
    } catch {
      throw cutOff
    }
    guard start > 0, let digest = last["digest"]?.string, let count = last["objects"]?.integer
    else { throw cutOff }
    guard digest == ContentDigest(bytes[..<start]).hexadecimal else {
      throw PortingError(
        "The archive is damaged: its digest is not that of its \(count) objects; nothing is "
          + "imported"
      )
    }
    return try contents(bytes, upTo: start, count)
  }

  private static func contents(_ bytes: [UInt8], upTo end: Int, _ count: Int64) throws -> Contents {
    var lines: [UInt8] = []
    lines.reserveCapacity(end)
    var model: JSONValue?
    var hasHistory = false
    var values: [JSONMember] = []
    var found: Int64 = 0
    var start = 0
    var number = 0
    while start < end {
      let lineEnd = JSONBytes.firstIndex(of: 0x0A, in: bytes.span, from: start)
      let text = bytes.span.extracting(start..<lineEnd)
      let lineStart = start
      start = lineEnd + 1
      number += 1
      let line: JSONValue
      do {
        line = try JSONParser.parse(text)
      } catch {
        throw PortingError(
          "Line \(number) of the archive: \(error.message); nothing is imported"
        )
      }
      if model == nil {
        let form = line["archive"]?.integer
        guard let found = line["model"], form == versions.objects || form == versions.history else {
          throw PortingError("The archive has a form of another version of Cordial")
        }
        model = found
        hasHistory = form == versions.history
        guard !hasHistory else {
          return Contents(model: found, hasHistory: true, lines: Array(bytes[start..<end]))
        }
      } else if let value = line["binary"], let property = line["property"]?.string {
        values.append(JSONMember(property, value))
      } else if values.isEmpty {
        found += 1
        lines += bytes[lineStart..<lineEnd]
      } else {
        found += 1
        let object: JSONValue = [
          "id": line["id"] ?? .null,
          "values": .object((line["values"]?.members ?? []) + values),
        ]
        lines += object.text.utf8
        values = []
      }
      lines.append(0x0A)
    }
    guard found == count else {
      throw PortingError(
        "The archive is damaged: it has \(found) objects, not \(count); nothing is imported"
      )
    }
    return Contents(model: model ?? .null, hasHistory: false, lines: lines)
  }
}
