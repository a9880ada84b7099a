import CordialProtocol
import JSON
import JSONRPC
import ProtocolSchemas
import Testing

/// The types of requests and results lose nothing of a message: what they read, they write.
@Suite struct `The types of the protocol` {
  private static func type(of method: Method) -> (any DescribedCall.Type)? {
    MethodTable.messageType(of: method.kind) as? any DescribedCall.Type
  }

  /// Every message of the transcripts and of the examples.
  private static func messages() throws -> [Transcript.Message] {
    let examples = MethodTable.all.flatMap { method -> [Transcript.Message] in
      let result = method.exampleResult.map { Transcript.Message.result($0, method) }
      return [.params(method.example, method)] + [result].compactMap(\.self)
    }
    return try Transcript.names.flatMap { try Transcript(named: $0).messages } + examples
  }

  @Test func `are one for each request`() {
    for method in MethodTable.all {
      let type = Self.type(of: method)
      #expect(type?.name == (method.isRequest ? method.kind : nil), "\(method.name)")
    }
  }

  @Test func `write every param that they read`() throws {
    var count = 0
    for case .params(let params, let method) in try Self.messages() {
      guard let type = Self.type(of: method),
        let checked = try? method.checked(params), let call = try? type.init(checked)
      else { continue }
      count += 1
      let written = call.json
      let lost = Forms.differences(Forms.sent(checked, of: method.kind), written, allowsMore: true)
      #expect(lost.isEmpty, "\(method.name) \(params.text)")
      #expect(!(written.members ?? []).contains { $0.value.isNull }, "\(written.text)")
      // A service reads the written params as the same request.
      let again = try type.init(try method.checked(written))
      #expect(again.json == written, "\(method.name) \(params.text)")
    }
    #expect(count > 400)
  }

  @Test func `write every result that they read`() throws {
    var count = 0
    for case .result(let result, let method) in try Self.messages() {
      // The scripts of mocks have other results too.
      guard let type = Self.type(of: method), method.result?.mismatch(result) == nil else {
        continue
      }
      count += 1
      do throws(RPCError) {
        try check(result, type)
      } catch {
        Issue.record("\(method.name) \(error.message) \(result.text)")
      }
    }
    #expect(count > 400)
  }

  private func check<Described: DescribedCall>(
    _ result: JSONValue,
    _ type: Described.Type
  ) throws(RPCError) {
    let lost = Forms.differences(result, try Described.Result(result).json, allowsMore: false)
    #expect(lost.isEmpty, "\(Described.name.rawValue) \(result.text)")
    guard Described.name == .observe else { return }
    if let whole = result["result"] { try check(whole, of: ObservedResult.self) }
    if let update = result["update"] { try check(update, of: ObservedDifference.self) }
  }

  private func check<Object: WireObject>(
    _ json: JSONValue,
    of type: Object.Type
  ) throws(RPCError) {
    let lost = Forms.differences(json, try Object(json).json, allowsMore: false)
    #expect(lost.isEmpty, "\(json.text)")
  }

  @Test func `write every update that they read`() throws {
    var count = 0
    for case .params(let params, let method) in try Self.messages() {
      guard method.kind == .changes, let params = try? method.checked(params) else { continue }
      try check(params, of: ChangesNotification.self)
      for update in try ChangesNotification(params).updates {
        count += 1
        if let result = update.result { try check(result, of: ObservedResult.self) }
        guard update.error == nil, !update.isFresh else { continue }
        let members = (update.json.members ?? []).filter { $0.name != "subscription" }
        try check(.object(members), of: ObservedDifference.self)
      }
    }
    #expect(count > 100, "\(count)")
  }
}

/// Comparisons of messages that say the same in other words.
private enum Forms {
  /// Members that mean the same as their absence.
  private static let defaults: [(name: String, value: JSONValue)] = [
    ("subentities", true), ("result", "objects"), ("durability", "full"), ("mode", "values"),
    ("offset", 0), ("coalesce", 0), ("positionEncoding", "utf-16"),
  ]
  /// What LSP defines, and has no effect.
  private static let unread = [
    "processId", "clientInfo", "locale", "rootPath", "rootUri", "workspaceFolders",
    "capabilities", "trace", "integers",
  ]

  /// Returns sent params in the form that the types write.
  static func sent(_ params: JSONValue, of method: MethodName) -> JSONValue {
    guard var members = params.members else { return params }
    if method == .observe, let fetch = params["fetch"], fetch["ids"] != nil {
      // Objects of IDs are observed, in whichever member they are named.
      members = members.filter { $0.name != "fetch" } + (fetch.members ?? [])
    }
    return .object(
      members.compactMap { member in
        if method == .initialize, unread.contains(member.name) { return nil }
        if member.value == false || defaults.contains(where: { $0 == (member.name, member.value) })
        {
          return nil
        }
        let value: JSONValue
        switch (member.name, member.value) {
        case ("delete", .array(let elements)):
          value = .array(elements.map { $0["version"] == nil ? $0["id"] ?? $0 : $0 })
        case ("select", [:]): value = []
        case ("fetch", let fetch) where fetch["ids"] == nil: value = sent(fetch, of: .fetch)
        case ("search", let search): value = sent(search, of: .search)
        case ("cordial", let settings):
          value = sent(settings, of: .initialize)
          if value == [:] { return nil }
        case ("initializationOptions", let options):
          return options["cordial"].map { JSONMember("cordial", sent($0, of: .initialize)) }
        case ("path", .string(let path)) where path.hasSuffix("/"):
          value = .string(String(path.dropLast()))
        case ("transaction", .string(let text)): value = .string(text.lowercased())
        case (_, let other): value = other
        }
        return JSONMember(member.name, value)
      }
    )
  }

  /// Returns the paths at which a value differs from another one, whatever the order of members.
  static func differences(
    _ value: JSONValue,
    _ other: JSONValue?,
    allowsMore: Bool,
    at path: String = ""
  ) -> [String] {
    guard value != other else { return [] }
    switch (value, other) {
    case (.object(let members), .object(let others)?):
      let names = Set(members.map(\.name))
      let more = allowsMore ? [] : others.map(\.name).filter { !names.contains($0) }
      return more.map { "\(path).\($0)" }
        + members.flatMap {
          differences($0.value, other?[$0.name], allowsMore: allowsMore, at: "\(path).\($0.name)")
        }
    case (.array(let elements), .array(let others)?) where elements.count == others.count:
      return zip(elements, others).enumerated().flatMap { index, pair in
        differences(pair.0, pair.1, allowsMore: allowsMore, at: "\(path)[\(index)]")
      }
    case (.integer(let whole), .number(let number)?) where Double(whole) == number: return []
    default: return [path]
    }
  }
}
