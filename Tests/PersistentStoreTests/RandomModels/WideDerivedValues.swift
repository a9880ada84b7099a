import JSON
import ObjectModel

/// The values of derived attributes, as the contract says them (P-115a).
enum WideDerivedValues {
  /// Computes the derived values of a state: counts, sums of integers and decimals, and values over to-ones.
  ///
  /// Folded texts, times and sums of doubles are left out, because a comparison would need ICU, the
  /// clock or an order. `store/verify` checks them.
  static func settle(_ state: inout WideState, _ model: WideModel) {
    let former = state
    for (name, object) in former.objects {
      state.objects[name]?.id = ""
      for attribute in model.attributes(name.entity) {
        guard let derived = attribute.derived else { continue }
        state.objects[name]?.values[attribute.number] =
          value(derived, object, former, model).map { .attribute($0) }
      }
    }
  }

  private static func value(
    _ derived: WideDerived,
    _ object: WideObject,
    _ state: WideState,
    _ model: WideModel
  ) -> JSONValue? {
    switch derived {
    case .count(let many): return .integer(Int64(object.values[many]?.names.count ?? 0))
    case .sum(let many, let summed):
      guard let type = model.attribute(summed)?.type else { return nil }
      if type == .decimal {
        let members = object.values[many]?.names ?? []
        return sum(members.map { state.objects[$0]?.values[summed] }).map { .string($0) }
      }
      guard [.int16, .int32].contains(type) else { return nil }
      let numbers = (object.values[many]?.names ?? []).map { member in
        if case .attribute(.integer(let number))? = state.objects[member]?.values[summed] {
          return number
        }
        return 0
      }
      return .integer(numbers.reduce(0, +))
    case .path(let one, let last):
      guard let target = object.values[one]?.names.first,
        case .attribute(let value)? = state.objects[target]?.values[last]
      else { return .null }
      return value
    case .form, .now: return nil
    }
  }

  /// The exact sum of decimals; nil where it has too many digits.
  private static func sum(_ values: [WideValue?]) -> String? {
    var sum = GraphDecimal(Int64(0))
    for case .attribute(.string(let text))? in values {
      guard let number = GraphDecimal(text) else { return nil }
      sum = sum + number
    }
    return sum.isShort ? sum.text : nil
  }

  /// A value of a model file in the form in which a fetch returns it.
  static func canonical(_ value: JSONValue, _ type: AttributeType) -> JSONValue {
    switch (type, value) {
    case (.double, .integer(let number)): .number(Double(number))
    case (.float, .integer(let number)): .number(Double(number))
    case (.float, .number(let number)): .number(Double(Float(number)))
    case (.decimal, .string(let text)) where text.contains("."):
      .string(String(text.reversed().drop { $0 == "0" }.reversed()))
    default: value
    }
  }
}
