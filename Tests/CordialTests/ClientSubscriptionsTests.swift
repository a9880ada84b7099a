import Cordial
import CordialProtocol
import JSON
import Synchronization
import Testing

@Suite struct `The subscriptions of a client` {
  /// What the handler of a subscription was called with, as lines.
  private final class Events: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ event: SubscriptionEvent) {
      lines.withLock { lines in
        switch event {
        case .result(let result, let token): lines.append("\(token): result \(result.text)")
        case .update(let update, let token): lines.append("\(token): update \(update.text)")
        case .failure(let error): lines.append("error \(error.code.rawValue)")
        }
      }
    }

    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  private var subscriptions = ClientSubscriptions()
  private let events = Events()

  /// Observes a request, which is answered with the name `s1`.
  private mutating func observe(_ target: ObserveCall.Target, _ answer: [JSONMember]) -> Int {
    let number = subscriptions.reserve()
    let request = subscriptions.add(number, ObserveCall(target)) { [events] in events.add($0) }
    deliver(
      subscriptions.handle(
        .success(
          .object([JSONMember("subscription", "s1"), JSONMember("fresh", true)] + answer)
        ),
        to: request
      ).delivery
    )
    return number
  }

  private func deliver(_ deliveries: ClientSubscriptions.Delivery?...) {
    for delivery in deliveries.compactMap(\.self) { delivery.handler(delivery.event) }
  }

  private mutating func change(_ changes: JSONValue) throws {
    for delivery in subscriptions.handle(try ChangesNotification(changes)) { deliver(delivery) }
  }

  /// The position from which the next connection resumes.
  private mutating func resumption() -> JSONValue? {
    subscriptions.reconnect().first?.call.json["since"]
  }

  private static let fetch = ObserveCall.Target.fetch(FetchCall(entity: "T"))
  private static let first: [JSONMember] = [
    JSONMember("token", "a"), JSONMember("result", ["ids": ["T/p1"]]),
  ]

  @Test mutating func `report the parts of an update together`() throws {
    _ = observe(Self.fetch, Self.first)
    #expect(events.take() == [#"a: result {"ids":["T/p1"]}"#])
    try change([
      "from": "a", "more": true,
      "updates": [["subscription": "s1", "remove": [2], "sections": [["count": 1]]]],
    ])
    #expect(events.take() == [])
    try change([
      "from": "a", "token": "b",
      "updates": [["subscription": "s1", "remove": [1], "insert": [0]]],
    ])
    #expect(
      events.take() == [
        #"b: update {"subscription":"s1","remove":[2,1],"sections":[{"count":1}],"insert":[0]}"#
      ]
    )
    #expect(resumption() == "b")
  }

  @Test mutating func `forget the parts of a connection that has ended`() throws {
    _ = observe(Self.fetch, Self.first)
    try change(["from": "a", "more": true, "updates": [["subscription": "s1", "remove": [2]]]])
    #expect(resumption() == "a")
    try change(["from": "a", "token": "b", "updates": [["subscription": "s1", "remove": [1]]]])
    #expect(!events.take().contains { $0.hasPrefix("b") })
  }

  @Test mutating func `resume a search from the position of the index`() throws {
    _ = observe(
      .search(SearchCall(query: "milk")),
      [
        JSONMember("token", "t9"),
        JSONMember("result", ["token": "t7", "storeToken": "t9", "hits": []]),
      ]
    )
    #expect(resumption() == "t7")
    _ = observe(
      .search(SearchCall(query: "milk")),
      [
        JSONMember("token", "t9"),
        JSONMember("result", ["token": "t7", "storeToken": "t9", "hits": []]),
      ]
    )
    try change(["from": "t9", "token": "t10", "updates": [["subscription": "s1", "index": "t8"]]])
    // An update of other subscriptions does not move the index.
    try change(["from": "t10", "token": "t11", "updates": []])
    #expect(subscriptions.reconnect().last?.call.json["since"] == "t8")
  }

  @Test mutating func `end with the error of the service`() throws {
    _ = observe(Self.fetch, Self.first)
    try change([
      "from": "a", "token": "b",
      "updates": [["subscription": "s1", "error": ["code": 1302, "message": "Too long"]]],
    ])
    #expect(events.take().last == "error 1302")
    #expect(subscriptions.reconnect().isEmpty)
  }
}
