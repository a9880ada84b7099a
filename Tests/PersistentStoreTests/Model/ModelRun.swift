import JSON
import TestSeeds
import Testing

/// One run of random operations: two processes on one store, and the plain store beside them.
final class ModelRun {
  let stores: [StoreUnderTest]
  var plain: PlainStore
  var random: SplitMix64
  let seed: UInt64
  private let coverage: ModelCoverage
  private(set) var agrees = true
  /// The operations so far, the newest last.
  private(set) var log: [String] = []
  /// Accepted saves with a `transaction`, and their answers.
  private var remembered: [(request: JSONValue, answer: JSONValue)] = []

  init(_ seed: UInt64, rowsTogether: Bool, _ coverage: ModelCoverage) throws {
    self.seed = seed
    self.coverage = coverage
    var models = ModelGenerator(seed: seed)
    let model = models.model()
    let first = try StoreUnderTest(model: model, rowsTogether: rowsTogether)
    stores = [
      first, try StoreUnderTest(model: model, beside: first, rowsTogether: rowsTogether),
    ]
    plain = PlainStore(try PlainModel(model), token: try first.token())
    random = SplitMix64(seed: seed)
  }

  /// Carries out operations until one disagrees.
  func run(steps: Int) async throws {
    for _ in 0..<steps where agrees {
      do {
        try await step()
      } catch {
        expect(false, "\(error)")
      }
    }
    guard agrees else { return }
    for store in stores {
      let problems = try store.problems()
      expect(problems == [], "store/verify reports \(problems.text)")
    }
  }

  private func step() async throws {
    let store = random.pick(stores)
    let before = plain.state
    let head = plain.head
    switch random.below(8) {
    case 0, 1: try await undo(store)
    case 2: try await external(store)
    case 3 where random.oneIn(4) && !remembered.isEmpty: try await repeatTransaction(store)
    default: try await save(store)
    }
    guard agrees else { return }
    try compareObjects()
    if plain.head > head { try compareHistory(before) }
  }

  func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    guard agrees, !holds else { return }
    agrees = false
    let isVerbose = ModelRun.isVerbose
    let operations = isVerbose ? log.joined(separator: "\n") : log.last ?? ""
    let model = isVerbose ? "\nmodel \(plain.model.text)\n" : ""
    let comment =
      "\(what())\nafter \(model)\(operations)\n\(Seeds.repeating(seed, "random operations"))"
    Issue.record(Comment(rawValue: comment))
  }

  // MARK: Saves

  private func save(_ store: StoreUnderTest) async throws {
    var generator = OperationGenerator(random, plain)
    var request = generator.request()
    random = generator.random
    if random.oneIn(10), let transaction = transaction(request) {
      let params = (request["params"]?.members ?? []) + [transaction]
      request = ["method": request["method"] ?? .null, "params": .object(params)]
    }
    var save = plain.save(request)
    guard let result = try await send(request, save, store) else { return }
    try adopt(result, &save)
    compare(result, request, save)
    plain.keep(
      save,
      author: request["params"]?["author"]?.string,
      context: request["params"]?["context"]?.string,
      token: result["token"]?.string ?? ""
    )
    if request["params"]?["transaction"] != nil { remembered.append((request, result)) }
  }

  /// A UUID for a request, in upper or lower case.
  private func transaction(_ request: JSONValue) -> JSONMember? {
    let forms = ModelFeatures.has(.transactionForms)
    guard forms || request["method"] == "save" else { return nil }
    let digits = String(1_000_000_000 + random.below(1_000_000_000))
    let text = "0000abcd-0000-4000-8000-00" + digits
    return JSONMember("transaction", .string(forms && random.oneIn(2) ? text.uppercased() : text))
  }

  /// Sends a request, sometimes after a dry run of it.
  ///
  /// - Returns: The result; nil where the request was refused, as the model says, or not sent.
  private func send(
    _ request: JSONValue,
    _ save: PlainSave,
    _ store: StoreUnderTest
  ) async throws -> JSONValue? {
    guard isSent(save) else { return nil }
    log.append(request.text)
    var dryRun: JSONValue?
    if random.oneIn(4) {
      let params = (request["params"]?.members ?? []) + [JSONMember("dryRun", true)]
      let answer = try await store.answer(
        to: ["method": request["method"] ?? .null, "params": .object(params)]
      )
      dryRun = answer["result"]?["dryRun"]
      expect(dryRun != nil, "the dry run fails: \(answer.text)")
      try compareObjects()
    }
    let answer = try await store.answer(to: request)
    guard let result = answer["result"] else {
      compare(error: answer["error"] ?? .null, request, save)
      if let dryRun {
        let codes = [dryRun["error"]?["code"], answer["error"]?["code"]]
        expect(codes[0] == codes[1], "the dry run says \(dryRun.text), not \(answer.text)")
      }
      coverage.count("request refused: \(answer["error"]?["code"]?.text ?? "")")
      return nil
    }
    expect(save.codes.isEmpty, "the store accepts what has \(save.problems) \(save.conflicts)")
    if let dryRun { compare(dryRun: dryRun, save) }
    coverage.count("request accepted: \(request["method"]?.string ?? "")")
    return agrees ? result : nil
  }

  /// Whether the contract decides the answer, and the store has the features for it.
  private func isSent(_ save: PlainSave) -> Bool {
    if let missing = save.needs.subtracting(ModelFeatures.on).first {
      coverage.count("off: \(missing.rawValue)")
      return false
    }
    for name in save.open { coverage.count("open: \(name)") }
    return save.open.isEmpty
  }

  private func repeatTransaction(_ store: StoreUnderTest) async throws {
    var (request, first) = random.pick(remembered)
    let mayDiffer = ModelFeatures.has(.transactionForms)
    if mayDiffer, random.oneIn(2) {
      // The case of a UUID does not count, nor do other params.
      let members = (request["params"]?.members ?? []).map { member in
        let isUUID = member.name == "transaction"
        return isUUID
          ? JSONMember(member.name, .string(member.value.string?.uppercased() ?? "")) : member
      }
      request = ["method": request["method"] ?? .null, "params": .object(members)]
    }
    if mayDiffer, random.oneIn(4) {
      let other: JSONValue = [
        "method": request["method"] == "undo" ? "redo" : "undo",
        "params": ["transaction": request["params"]?["transaction"] ?? .null],
      ]
      let answer = try await store.answer(to: other)
      expect(answer["error"]?["code"] == -32602, "\(other.text) returns \(answer.text)")
      return
    }
    log.append("again \(request.text)")
    let answer = try await store.answer(to: request)
    expect(
      answer["result"] == first,
      "a repeated transaction returns \(answer.text), not \(first.text)"
    )
    coverage.count("request repeated")
  }

  // MARK: Undo

  private func undo(_ store: StoreUnderTest) async throws {
    var generator = OperationGenerator(random, plain)
    var request = generator.revert()
    random = generator.random
    if ModelFeatures.has(.transactionForms), random.oneIn(10),
      let transaction = transaction(request)
    {
      let params = (request["params"]?.members ?? []) + [transaction]
      request = ["method": request["method"] ?? .null, "params": .object(params)]
    }
    var undo = plain.undo(request)
    guard let result = try await send(request, undo.save, store) else { return }
    expect(
      result["undone"]?.integer == Int64(undo.groups.count),
      "\(result.text), \(undo.groups.count)"
    )
    try adopt(result, &undo.save)
    compare(undone: result, undo)
    plain.keep(
      undo,
      author: request["params"]?["author"]?.string,
      token: result["token"]?.string ?? ""
    )
    if request["params"]?["transaction"] != nil { remembered.append((request, result)) }
  }

  // MARK: External clients

  private func external(_ store: StoreUnderTest) async throws {
    guard var write = try ExternalWrite.random(&random, plain, store) else { return }
    log.append(write.sql)
    try await store.external(write.sql)
    if let (key, query) = write.inserted {
      write.save.state.objects[key]?.number = try store.rows(query).first.flatMap { Int64($0) }
    }
    plain.keep(write.save, author: "external", context: nil, token: try store.token())
    coverage.count("external write: \(write.sql.prefix { $0 != " " })")
  }
}
