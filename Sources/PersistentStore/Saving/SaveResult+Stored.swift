import CordialValues
import JSON
import ObjectModel

/// The stored form of a result, which a repeated transaction returns again.
///
/// The text names objects by their permanent IDs, and has the type of each attribute value. The
/// service encodes the values for the connection that repeats the transaction.
extension SaveResult {
  /// Returns the text that is stored with the transaction's commit.
  func storedText(of method: SaveRequest.Method, in model: Model) -> String {
    JSONValue.object([
      JSONMember("method", .string(method.rawValue)),
      JSONMember(
        "ids",
        .array(ids.map { [.string($0.sent), $0.name.map { $0.stored(in: model) } ?? .null] })
      ),
      JSONMember("objects", .array(objects.map { $0.stored(in: model) })),
      JSONMember("merged", .array(merged.map { $0.stored(in: model) })),
      JSONMember("count", .integer(Int64(count))),
      JSONMember(
        "matched",
        matched.map { .array($0.map { $0.stored(in: model) }) } ?? .null
      ),
      JSONMember("undone", undone.map { .integer(Int64($0)) } ?? .null),
    ]).text
  }

  /// Reads a stored text.
  ///
  /// - Returns: The method that was called, and its result; nil for a text that this program did
  ///   not write.
  static func read(stored text: String) -> (method: SaveRequest.Method, result: SaveResult)? {
    do {
      let value = try JSONParser.parse(text)
      guard let method = value["method"]?.string.flatMap(SaveRequest.Method.init(rawValue:)),
        let result = SaveResult(stored: value)
      else { return nil }
      return (method, result)
    } catch {
      // The file is damaged: the transaction was carried out, but its result is unknown.
      return nil
    }
  }

  private init?(stored value: JSONValue) {
    guard let ids = value["ids"]?.array, let objects = value["objects"]?.array else { return nil }
    self.init()
    self.ids = ids.map {
      InsertedID(
        sent: $0.array?.element(0)?.string ?? "",
        name: $0.array?.element(1)?.string.map { .text($0) }
      )
    }
    self.objects = objects.map(SavedObject.init(stored:))
    merged = (value["merged"]?.array ?? []).map(MergedObject.init(stored:))
    count = Int(value["count"]?.integer ?? 0)
    matched = value["matched"]?.array?.map { .text($0.string ?? "") }
    undone = value["undone"]?.integer.map { Int($0) }
  }
}

extension ObjectName {
  fileprivate func stored(in model: Model) -> JSONValue {
    switch self {
    case .text(let text): .string(text)
    case .object(let key): .string("\(model.entity(key.entity).name)/p\(key.object)")
    }
  }
}

extension SavedObject {
  fileprivate func stored(in model: Model) -> JSONValue {
    [
      id.map { $0.stored(in: model) } ?? .null, version.map { .integer($0) } ?? .null,
      .array(values.map { [.string($0.name), $0.value.stored(in: model)] }),
    ]
  }

  fileprivate init(stored value: JSONValue) {
    self.init(
      id: value.array?.element(0)?.string.map { .text($0) },
      version: value.array?.element(1)?.integer,
      values: (value.array?.element(2)?.array ?? []).map {
        SavedProperty(
          name: $0.array?.element(0)?.string ?? "",
          value: SavedProperty.Value(stored: $0.array?.element(1) ?? .null)
        )
      }
    )
  }
}

extension SavedProperty.Value {
  fileprivate func stored(in model: Model) -> JSONValue {
    switch self {
    case .attribute(let value): ["attribute", .string(value.type.rawValue), WireValue.json(value)]
    case .reference(let name): ["reference", name.map { $0.stored(in: model) } ?? .null]
    case .references(let names): ["references", .array(names.map { $0.stored(in: model) })]
    }
  }

  fileprivate init(stored value: JSONValue) {
    switch value.array?.element(0)?.string {
    case "reference": self = .reference(value.array?.element(1)?.string.map { .text($0) })
    case "references":
      self = .references((value.array?.element(1)?.array ?? []).map { .text($0.string ?? "") })
    default:
      let type = AttributeType(rawValue: value.array?.element(1)?.string ?? "") ?? .json
      if case .value(let read) = type.decode(value.array?.element(2) ?? .null) {
        self = .attribute(read)
      } else {
        self = .attribute(.null)
      }
    }
  }
}

extension MergedObject {
  fileprivate func stored(in model: Model) -> JSONValue {
    switch outcome {
    case .delete(let outcome): [id.stored(in: model), .string(outcome.rawValue)]
    case .properties(let properties):
      [
        id.stored(in: model),
        .array(properties.map { [.string($0.name), .string($0.outcome.rawValue)] }),
      ]
    }
  }

  fileprivate init(stored value: JSONValue) {
    func outcome(_ value: JSONValue?) -> MergeOutcome {
      value?.string.flatMap(MergeOutcome.init) ?? .store
    }
    self.init(
      id: .text(value.array?.element(0)?.string ?? ""),
      outcome: value.array?.element(1)?.array.map {
        .properties(
          $0.map {
            MergedProperty(
              name: $0.array?.element(0)?.string ?? "",
              outcome: outcome($0.array?.element(1))
            )
          }
        )
      } ?? .delete(outcome(value.array?.element(1)))
    )
  }
}

extension [JSONValue] {
  /// Returns the element at an index; nil if the array is shorter.
  fileprivate func element(_ index: Int) -> JSONValue? {
    indices.contains(index) ? self[index] : nil
  }
}
