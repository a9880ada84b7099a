import CordialProtocol
import JSON
import JSONRPC

/// Whole members of one update, which fit in one message unless a single element is too long.
///
/// Rows that several updates share are stored once. The fragment has their offsets, and becomes
/// bytes when it is sent.
struct UpdateFragment: Sendable {
  /// A row of an update: its offset in this update, and the rest, which other updates share.
  struct Row: Sendable {
    let offset: Int32
    let rest: [UInt8]

    /// The maximum length of the written row, with a separator.
    var bytesMax: Int { rest.count + 24 }
  }

  private enum Segment {
    case bytes(MessageBytes)
    case rows([Row])
  }

  private var segments: [Segment] = []
  /// The maximum length of the fragment in bytes.
  private(set) var bytesMax = 0
  /// The memory of the fragment alone: rows that other updates share count as references.
  private(set) var ownBytes = 0

  init() {}

  init(_ bytes: MessageBytes) {
    append(bytes)
  }

  mutating func append(_ bytes: MessageBytes) {
    segments.append(.bytes(bytes))
    bytesMax += bytes.count
    ownBytes += bytes.count
  }

  /// Adds rows, with commas between them.
  mutating func append(_ rows: [Row]) {
    segments.append(.rows(rows))
    ownBytes += rows.count * MemoryLayout<Row>.stride
    bytesMax += rows.reduce(0) { $0 + $1.bytesMax }
  }

  /// The fragment as bytes.
  var bytes: MessageBytes {
    var message = MessageBytes([])
    for segment in segments {
      switch segment {
      case .bytes(let bytes): message.append(bytes)
      case .rows(let rows): message.append(Self.encoded(rows))
      }
    }
    return message
  }

  private static func encoded(_ rows: [Row]) -> MessageBytes {
    let length = rows.reduce(0) { $0 + $1.bytesMax }
    var writer = JSONWriter(reserving: length)
    for (index, row) in rows.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.key(.offset, after: "{")
      writer.integer(Int64(row.offset))
      writer.raw(row.rest)
    }
    return MessageBytes(writer)
  }
}
