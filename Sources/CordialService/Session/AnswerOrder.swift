import DequeModule
import JSONRPC

/// Puts answers in the order of their requests, and those of a batch into one.
///
/// A place is taken when a request or batch comes and given up when it is answered. With
/// `inOrder`, an answer waits for those before it. Nothing is sent from here: the caller takes what
/// is ready with `takeReady()` once the mutation has ended, because a sink may report events while
/// it takes bytes.
struct AnswerOrder {
  private struct Place {
    /// The answers that came.
    var parts: [MessageBytes]
    var missing: Int
    let isBatch: Bool
    /// Its message went out, and it only keeps the count of those behind it.
    var isSent = false
  }

  /// Those that were not given up, in order.
  private var places: Deque<Place> = []
  /// The number of the first of them.
  private var first = 0
  /// The messages that can go out, in order.
  private var ready: Deque<MessageBytes> = []

  /// How many places are taken, those included that wait for one before them.
  var count: Int { places.count }

  /// Takes a place for one request, or for a batch some of whose answers may be known already.
  ///
  /// - Parameters:
  ///   - count: How many requests are answered in this place.
  ///   - parts: The known answers of a batch.
  ///   - isBatch: Whether the answers stand in an array.
  /// - Returns: The number of the place.
  mutating func take(
    for count: Int = 1,
    parts: [MessageBytes] = [],
    isBatch: Bool = false
  ) -> Int {
    places.append(Place(parts: parts, missing: count, isBatch: isBatch))
    return first + places.count - 1
  }

  /// Notes an answer.
  ///
  /// - Parameters:
  ///   - message: The whole message.
  ///   - number: The place that its request has.
  ///   - inOrder: Whether answers wait for those before them.
  mutating func answer(_ message: MessageBytes, at number: Int, inOrder: Bool) {
    let index = number - first
    guard places.indices.contains(index), places[index].missing > 0 else { return }
    places[index].parts.append(message)
    places[index].missing -= 1
    release(number, inOrder: inOrder)
  }

  /// A message of ours that belongs to no request, in its place.
  mutating func insert(_ message: MessageBytes, inOrder: Bool) {
    release(take(for: 0, parts: [message]), inOrder: inOrder)
  }

  /// Takes the next message that can go out; nil when there is none.
  mutating func takeReady() -> MessageBytes? {
    ready.popFirst()
  }

  /// Makes ready what a place has when nothing is missing there, and with `inOrder` nothing before
  /// it.
  mutating func release(_ number: Int, inOrder: Bool) {
    let index = number - first
    guard places.indices.contains(index), places[index].missing == 0 else { return }
    if !inOrder, !places[index].isSent {
      if let message = Self.message(of: places[index]) { ready.append(message) }
      places[index].isSent = true
      places[index].parts = []
    }
    while let place = places.first, place.missing == 0 {
      if !place.isSent, let message = Self.message(of: place) { ready.append(message) }
      places.removeFirst()
      first += 1
    }
  }

  /// What a full place says; nil for a batch of notifications, which is answered nothing.
  private static func message(of place: Place) -> MessageBytes? {
    guard place.isBatch else { return place.parts.first }
    guard let first = place.parts.first else { return nil }
    var message = MessageBytes([UInt8(ascii: "[")])
    message.append(first)
    for part in place.parts.dropFirst() {
      message.append([UInt8(ascii: ",")])
      message.append(part)
    }
    message.append([UInt8(ascii: "]")])
    return message
  }
}
