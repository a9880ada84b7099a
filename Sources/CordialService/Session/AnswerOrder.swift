import DequeModule

/// Puts answers in the order of their requests, and those of a batch into one.
///
/// A place is taken when a request or batch comes and given up when it is answered. With
/// `inOrder`, an answer waits for those before it.
struct AnswerOrder {
  private struct Place {
    /// The answers that came; nil until all of them have.
    var message: [UInt8]?
    var parts: [[UInt8]] = []
    var missing: Int
    let isBatch: Bool
  }

  private var places: [Int: Place] = [:]
  private var order: Deque<Int> = []
  private var nextPlace = 0
  /// Which place a request's answer belongs to, by the request's serial.
  private var placeOfRequest: [Int: Int] = [:]

  /// Takes a place for one request.
  mutating func take(for serial: Int) {
    take(for: [serial], parts: [], isBatch: false)
  }

  /// Takes a place for a batch, some of whose answers may be known already.
  mutating func take(for serials: [Int], parts: [[UInt8]], isBatch: Bool) {
    let place = nextPlace
    nextPlace += 1
    for serial in serials { placeOfRequest[serial] = place }
    places[place] = Place(parts: parts, missing: serials.count, isBatch: isBatch)
    order.append(place)
  }

  /// Notes an answer.
  ///
  /// - Parameters:
  ///   - message: The whole message.
  ///   - serial: The request that it answers.
  ///   - inOrder: Whether answers wait for those before them.
  /// - Returns: The messages that can go out now, in order.
  mutating func answer(_ message: [UInt8], to serial: Int, inOrder: Bool) -> [[UInt8]] {
    guard let number = placeOfRequest.removeValue(forKey: serial), var place = places[number] else {
      return []
    }
    place.parts.append(message)
    place.missing -= 1
    if place.missing == 0 { place.message = Self.joined(place.parts, isBatch: place.isBatch) }
    places[number] = place
    return ready(inOrder: inOrder, touched: number)
  }

  /// A message of ours that belongs to no request, in its place.
  mutating func insert(_ message: [UInt8], inOrder: Bool) -> [[UInt8]] {
    guard inOrder, !order.isEmpty else { return [message] }
    let number = nextPlace
    nextPlace += 1
    places[number] = Place(message: message, missing: 0, isBatch: false)
    order.append(number)
    return ready(inOrder: true, touched: number)
  }

  /// Completes a batch that has nothing to wait for.
  mutating func readyNow(inOrder: Bool) -> [[UInt8]] {
    guard let last = order.last, let place = places[last], place.missing == 0 else { return [] }
    places[last]?.message = Self.joined(place.parts, isBatch: place.isBatch)
    return ready(inOrder: inOrder, touched: last)
  }

  private mutating func ready(inOrder: Bool, touched: Int) -> [[UInt8]] {
    guard inOrder else {
      guard let message = places[touched]?.message else { return [] }
      places[touched] = nil
      order.removeAll { $0 == touched }
      return message.isEmpty ? [] : [message]
    }
    var messages: [[UInt8]] = []
    while let first = order.first, let message = places[first]?.message {
      order.removeFirst()
      places[first] = nil
      if !message.isEmpty { messages.append(message) }
    }
    return messages
  }

  private static func joined(_ parts: [[UInt8]], isBatch: Bool) -> [UInt8] {
    guard isBatch else { return parts.first ?? [] }
    guard !parts.isEmpty else { return [] }
    return [UInt8(ascii: "[")] + Array(parts.joined(separator: [UInt8(ascii: ",")]))
      + [UInt8(ascii: "]")]
  }
}
