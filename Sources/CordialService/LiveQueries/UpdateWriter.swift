package import CordialProtocol
package import JSON
import JSONRPC
import PersistentStore

/// A writer of the members of an update or a result, in fragments of limited length.
///
/// Each fragment is a list of whole members. A list that is too long for one fragment continues in
/// the next fragment under the same name, so that each fragment can be sent in a separate message.
package struct UpdateWriter {
  private var finished: [UpdateFragment] = []
  /// The part of the current fragment that precedes the bytes of `writer`.
  private var begun = UpdateFragment()
  private var writer: JSONWriter
  private let fragmentBytesMax: Int
  /// The maximum length of all fragments together; nil without a limit.
  private let bytesMax: Int?
  private var finishedBytes = 0
  /// The meter of the memory that is written; nil if no bound applies.
  private let meter: (any JSONMeter)?
  /// Whether the current fragment has no member yet.
  private var isEmptyFragment = true
  /// The list that is being written.
  private var list: (name: MemberName, isObject: Bool, isEmpty: Bool)?
  /// The name of the object that contains the members; nil if no object contains them.
  private var outer: MemberName?
  /// Whether the writer drops all text after the callers' closures have written it.
  let isDiscarding: Bool

  /// Creates a writer.
  ///
  /// - Parameters:
  ///   - fragmentBytesMax: The maximum length of a fragment; only a fragment with a single element
  ///     may be longer.
  ///   - bytesMax: The maximum length of all fragments together, beyond which writing fails; nil
  ///     without a limit.
  ///   - isDiscarding: Whether the writer drops all text after the callers' closures have written
  ///     it.
  ///   - meter: The meter of the memory of the members and of the result; nil if no bound applies.
  ///     A meter requires `bytesMax`, unless the writer drops the members.
  init(
    fragmentBytesMax: Int = .max,
    bytesMax: Int? = nil,
    isDiscarding: Bool = false,
    meter: (any JSONMeter)? = nil
  ) {
    self.fragmentBytesMax = fragmentBytesMax
    self.bytesMax = bytesMax
    self.isDiscarding = isDiscarding
    self.meter = meter
    writer = JSONWriter(reserving: 256, pieceBytes: Limits.pieceBytes, meter: meter)
  }

  /// A writer that drops the written text, for a result that is not sent to a client.
  static var discarding: UpdateWriter { UpdateWriter(isDiscarding: true) }

  /// Counts memory of the result whose members are written.
  ///
  /// - Parameter bytes: The memory, in bytes.
  /// - Throws: `limitExceeded` if no memory is left.
  func count(_ bytes: Int) throws(StoreError) {
    if let meter, !meter.grew(by: bytes) { throw StoreSnapshot.memoryIsUsed }
  }

  /// The fragments: lists of members, without braces around them.
  var fragments: [UpdateFragment] {
    guard !isEmptyFragment else { return finished }
    var last = begun
    last.append(MessageBytes(writer))
    return finished + [last]
  }

  /// The length of the current fragment.
  private var fragmentBytes: Int { begun.bytesMax + writer.count }

  /// Writes one member.
  package mutating func member(
    _ name: MemberName,
    _ body: (inout JSONWriter) throws -> Void
  ) throws {
    try write { isFirst, writer in
      writer.key(name, after: isFirst ? "" : ",")
      try body(&writer)
    }
  }

  /// Writes members inside an object.
  package mutating func object(
    _ name: MemberName,
    _ body: (inout UpdateWriter) throws -> Void
  ) throws {
    outer = name
    beginOuter()
    try body(&self)
    if !isDiscarding { writer.raw("}") }
    outer = nil
    isEmptyFragment = false
  }

  /// Begins a list, whose elements follow.
  package mutating func beginList(_ name: MemberName, isObject: Bool = false) {
    list = (name, isObject, true)
    openList()
  }

  /// Writes one element of the list.
  package mutating func element(_ body: (inout JSONWriter) throws -> Void) throws {
    try write { isFirst, writer in
      if !isFirst { writer.raw(",") }
      try body(&writer)
    }
  }

  package mutating func endList() {
    closeList()
    list = nil
  }

  /// Writes a list of rows that other updates share.
  ///
  /// - Parameters:
  ///   - name: The name of the list.
  ///   - rows: The rows.
  mutating func sharedList(_ name: MemberName, _ rows: [UpdateFragment.Row]) {
    beginList(name)
    var own: [UpdateFragment.Row] = []
    var bytes = 0
    for row in rows {
      if fragmentBytes + bytes + row.bytesMax > fragmentBytesMax, !own.isEmpty || !isEmptyFragment {
        append(own)
        nextFragment()
        (own, bytes) = ([], 0)
      }
      own.append(row)
      bytes += row.bytesMax
    }
    append(own)
    endList()
  }

  private mutating func append(_ rows: [UpdateFragment.Row]) {
    begun.append(MessageBytes(writer))
    writer = JSONWriter(reserving: 256, pieceBytes: Limits.pieceBytes, meter: meter)
    begun.append(rows)
  }

  /// Writes an element or a member, and moves it to the next fragment if the current fragment
  /// becomes too long.
  private mutating func write(_ body: (_ isFirst: Bool, inout JSONWriter) throws -> Void) throws {
    guard !isDiscarding else {
      writer.bytes.removeAll(keepingCapacity: true)
      return try body(true, &writer)
    }
    writer.splitIfLong()
    let isFirst = list?.isEmpty ?? isEmptyFragment
    let start = writer.bytes.count
    try body(isFirst, &writer)
    if let bytesMax, writer.isRefused || finishedBytes + fragmentBytes > bytesMax {
      try StoreSnapshot.check(writer, bytesMax - finishedBytes - begun.bytesMax)
    }
    if fragmentBytes > fragmentBytesMax, !isFirst || list != nil && !isEmptyFragment {
      let skipped = start + (isFirst ? 0 : 1)
      let moved = Array(writer.bytes[skipped...])
      writer.bytes.removeSubrange(start...)
      nextFragment()
      writer.raw(moved)
    }
    if list == nil { isEmptyFragment = false }
    list?.isEmpty = false
  }

  private mutating func nextFragment() {
    if list != nil { closeList() }
    if outer != nil { writer.raw("}") }
    finishedBytes += fragmentBytes
    begun.append(MessageBytes(writer))
    finished.append(begun)
    begun = UpdateFragment()
    writer = JSONWriter(reserving: 256, pieceBytes: Limits.pieceBytes, meter: meter)
    isEmptyFragment = true
    if outer != nil { beginOuter() }
    if list != nil {
      list?.isEmpty = true
      openList()
    }
  }

  private mutating func beginOuter() {
    guard !isDiscarding, let outer else { return }
    writer.key(outer, after: isEmptyFragment ? "" : ",")
    writer.raw("{")
    isEmptyFragment = true
  }

  private mutating func openList() {
    guard !isDiscarding, let list else { return }
    writer.key(list.name, after: isEmptyFragment ? "" : ",")
    writer.raw(list.isObject ? "{" : "[")
  }

  private mutating func closeList() {
    guard !isDiscarding, let list else { return }
    writer.raw(list.isObject ? "}" : "]")
    isEmptyFragment = false
  }
}
