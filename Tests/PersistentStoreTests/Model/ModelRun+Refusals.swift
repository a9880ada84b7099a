import JSON

/// Comparing a refusal with the problems that the plain model found.
extension ModelRun {
  func compare(error: JSONValue, _ request: JSONValue, _ save: PlainSave) {
    let code = error["code"]?.integer.map { Int($0) } ?? 0
    if code == 1103, request["method"] == "save" { compareConflicts(error, save) }
    guard ModelFeatures.has(.allProblems) else {
      // One kind of problem may hide the others.
      let kinds = Set(save.problems.map(\.code) + save.possible.map(\.code))
        .union(save.conflicts.isEmpty ? [] : [1103])
      return expect(
        !save.codes.isEmpty && kinds.contains(code),
        "\(error.text), not \(save.problems) \(save.conflicts)"
      )
    }
    expect(save.codes.contains(code), "\(error.text), not \(save.problems) \(save.conflicts)")
    let listed = error["data"]?["problems"]?.array ?? []
    let actual = listed.map { problem($0, save).naming(save.twins) }
    let isConflict = !save.conflicts.isEmpty
    // What else a change with a version of the future violates is open.
    if actual.contains(where: { $0.rule == "version" }) { return }
    // What a value that was not read leaves in the end state is open.
    let isUnread = actual.contains { ["type", "identity"].contains($0.rule) }
    let unread = relationships(ofUnread: actual, save)
    // A problem of the values of an update by predicate names the entity, not each object.
    if request["method"] == "update", let name = request["params"]?["entity"]?.string,
      listed.contains(where: { $0["id"]?.string == name })
    {
      let codes = Set(save.problems.map(\.code))
      return expect(actual.contains { codes.contains($0.code) }, "\(error.text)")
    }
    let twins = save.twins
    let certain = save.problems.filter { !isConflict || $0.isOfResolution }
      .map { $0.naming(twins) }
    let possible = isConflict ? [] : save.possible.map { $0.naming(twins) }
    // What becomes of an insert that meets several objects is open, and what follows from it.
    let isSeveral = certain.contains { $0.code == 1105 && $0.property == nil }
    for problem in certain {
      if isSeveral, problem.property != nil, !problem.isOfResolution { continue }
      if isUnread, problem.code == 1105 || problem.rule == "count" { continue }
      if problem.rule == "required", let name = problem.property, unread.contains(name) { continue }
      if problem.code == 1105 {
        // A problem names two of the objects that share the values.
        expect(actual.contains(where: problem.covers), "\(error.text) lacks \(problem)")
        continue
      }
      let found = actual.filter { other in
        other.comparable == problem.comparable
          || (other.code == problem.code && other.key != nil && other.key == problem.holder?.key
            && other.property == problem.holder?.name)
      }
      expect(!found.isEmpty, "\(error.text) lacks \(problem)")
      expect(
        found.contains { Self.isRule($0.rule, problem.rule) } || found.isEmpty,
        "\(error.text): the rule of \(problem)"
      )
    }
    let isOpen = certain.contains { $0.isOfResolution || $0.rule == "twice" || $0.property == nil }
    let allowed = Set((certain + possible).map(\.comparable))
    for problem in actual where !isOpen && !isUnread {
      if problem.code == 1105 {
        let isOne = (certain + possible).contains { $0.covers(problem) }
        expect(isOne, "\(error.text): \(problem) is no problem")
        continue
      }
      expect(allowed.contains(problem.comparable), "\(error.text): \(problem) is no problem")
    }
    if ModelFeatures.has(.problemIDs) { compareIDs(listed, request, save) }
  }

  /// The relationships whose values were not read, with their inverses: who would have them is open.
  private func relationships(ofUnread problems: [PlainProblem], _ save: PlainSave) -> Set<String> {
    let properties = Set(problems.filter { $0.rule == "type" }.compactMap(\.property))
    let relationships = save.model.entities.flatMap(\.relationships)
      .filter { properties.contains($0.name) }
    return Set(relationships.flatMap { [$0.name, save.model.inverse(of: $0).name] })
  }

  /// A conflict is reported for each property that other saves changed.
  private func compareConflicts(_ error: JSONValue, _ save: PlainSave) {
    let listed = (error["data"]?["conflicts"]?.array ?? []).map { conflict in
      let key = conflict["id"]?.string.flatMap(save.before.key) ?? 0
      return PlainConflict(key: key, name: conflict["property"]?.string)
    }
    let missing = save.conflicts.subtracting(listed)
    expect(missing.isEmpty, "\(error.text) lacks \(missing)")
    guard ModelFeatures.has(.netVersions) else { return }
    let more = Set(listed).subtracting(save.conflicts)
    expect(more.isEmpty, "\(error.text) has \(more)")
  }

  /// The rules of counts, of IDs and of identities have several names.
  private static func isRule(_ actual: String?, _ wanted: String?) -> Bool {
    guard let wanted, wanted != "twice", let actual else {
      return wanted == nil || wanted == "twice"
    }
    return actual == wanted || (wanted == "count" && actual.lowercased().hasSuffix("count"))
  }

  /// A problem as the store reports it, with the keys of its objects.
  private func problem(_ value: JSONValue, _ save: PlainSave) -> PlainProblem {
    func key(_ id: JSONValue?) -> Int? {
      // An insert without an ID is named by its index.
      if let text = id?.string, text.hasPrefix("insert["),
        let index = Int(text.dropFirst(7).dropLast())
      {
        return save.insertKeys.indices.contains(index) ? save.insertKeys[index] : nil
      }
      return id?.string.flatMap { save.ids[$0] ?? save.before.key($0) ?? save.state.key($0) }
    }
    let code = value["code"]?.integer.map { Int($0) } ?? 0
    var problem = PlainProblem(code: code, rule: value["rule"]?.string, key: key(value["id"]))
    problem.id = problem.key == nil || [1101, 1104].contains(code) ? value["id"]?.string : nil
    problem.property = value["property"]?.string
    if code == 1105 {
      let names = (value["properties"]?.array ?? []).compactMap(\.string)
      problem.property = names.joined(separator: ",")
      // An insert in the identity form has the same ID as the object that it would repeat.
      let existing = value["existing"]?.string ?? ""
      problem.others = Set([save.before.key(existing) ?? key(value["existing"])].compactMap { $0 })
    }
    if code == 1106 {
      problem.property = value["relationship"]?.string
      problem.others = Set((value["holders"]?.array ?? []).compactMap { key($0) })
    }
    return problem
  }

  /// A problem names an object as the request did; one that the request does not name by its ID.
  private func compareIDs(_ listed: [JSONValue], _ request: JSONValue, _ save: PlainSave) {
    var sent: [Int: Set<String>] = [:]
    for id in PlainSave.texts(request["params"] ?? .null) {
      guard let key = save.ids[id] ?? save.before.key(id) else { continue }
      sent[key, default: []].insert(id)
    }
    for problem in listed {
      guard let id = problem["id"]?.string, let key = save.ids[id] ?? save.before.key(id) else {
        continue
      }
      // Objects of one family may have one identity, which says nothing of its entity.
      let others = save.state.objects.keys.filter { sent[$0] == nil && save.state.id($0) == id }
      if !others.isEmpty, sent[key] == nil { continue }
      // An update by predicate names no object that it matches.
      let isMatched = request["method"] == "update"
      let wanted = (sent[key] ?? []).union(
        sent[key] == nil || isMatched ? [save.before.id(key)] : []
      )
      expect(wanted.contains(id), "\(problem.text) names an ID that was not sent")
    }
  }
}
