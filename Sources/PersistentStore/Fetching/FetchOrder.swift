package import CordialValues
import ObjectModel
import SQLite
import StoreLayout

/// The order of a fetch, for comparing two of its objects in memory.
struct FetchOrder: Sendable {
  /// The form in which `compare` compares the values of a key.
  private enum Form: Sendable {
    case stored
    case decimal
  }

  /// The query for the comparable keys of one object.
  let sql: String
  private let keys: [(form: Form, descends: Bool)]

  init(keys: [SortKey], from: String, _ texts: SQLTexts) {
    self.keys = keys.map { key in
      (key.sql.hasSuffix("COLLATE cordial_decimal") ? .decimal : .stored, key.descends)
    }
    let columns = keys.map(Self.comparable)
    sql = texts.shared(
      "SELECT \(columns.isEmpty ? "1" : columns.joined(separator: ", ")) \(from) "
        + "WHERE t.\"_id\" = ?"
    )
  }

  /// Returns SQL for the value of a sort key, in a form that `compare` can compare without a
  /// collation.
  ///
  /// Decimals are the exception: `compare` compares their texts as numbers.
  private static func comparable(_ key: SortKey) -> String {
    let localized = " COLLATE cordial_localized"
    guard key.sql.hasSuffix(localized) else { return key.sql }
    return SQLNames.sortKey(of: String(key.sql.dropLast(localized.count)))
  }

  /// The number of keys.
  var count: Int { keys.count }

  /// Compares two objects; returns a negative number, zero or a positive number.
  ///
  /// Objects with equal keys are in the order of their numbers.
  func compare(_ first: OrderedObject, _ second: OrderedObject) -> Int {
    for (index, key) in keys.enumerated() {
      let (a, b) = (first.keys[index], second.keys[index])
      let order =
        switch (key.form, a, b) {
        case (.decimal, .string(let a), .string(let b)): Int(DecimalText.compare(a, b))
        default: StorageOrder.compare(a, b)
        }
      if order != 0 { return key.descends ? -order : order }
    }
    return first.object < second.object ? -1 : first.object > second.object ? 1 : 0
  }
}

/// An object with the values of its sort keys.
struct OrderedObject {
  let object: Int64
  let keys: [AttributeValue]
}

extension StoreSnapshot {
  /// Returns the given objects that match a fetch, regardless of its window.
  ///
  /// - Parameters:
  ///   - objects: The numbers of objects.
  ///   - plan: The fetch.
  /// - Returns: The numbers of the matching objects.
  /// - Throws: `SQLiteError`.
  /// - Complexity: One look-up for each object.
  package func matching(_ objects: [Int64], _ plan: FetchPlan) throws -> Set<Int64> {
    try matching(objects, plan.matchSQL, plan.wholeValues)
  }

  func matching(
    _ objects: [Int64],
    _ sql: String,
    _ values: [AttributeValue]
  ) throws -> Set<Int64> {
    let rows = try statement(sql)
    defer { rows.reset() }
    rows.bind(ObjectNumbers(objects).text, at: 1)
    for (index, value) in values.enumerated() { rows.bind(value, at: Int32(index + 2)) }
    var matching: Set<Int64> = []
    while try rows.step() { matching.insert(rows.integer(0)) }
    return matching
  }

  /// Returns the values of columns of an object, by column name.
  ///
  /// - Parameters:
  ///   - columns: The names of columns in the object's table.
  ///   - key: The object.
  /// - Returns: The values as stored; nil when the object does not exist.
  /// - Throws: `SQLiteError`.
  package func columns(
    _ columns: [String],
    of key: ObjectKey
  ) throws -> [String: AttributeValue]? {
    try values(of: columns, of: key).map { values in
      Dictionary(zip(columns, values), uniquingKeysWith: { first, _ in first })
    }
  }

  /// Returns the values of columns of an object, in the order of the columns.
  ///
  /// - Parameters:
  ///   - columns: The names of columns in the object's table.
  ///   - key: The object.
  /// - Returns: The values as stored, in the order of the columns; nil when the object does not
  ///   exist.
  /// - Throws: `SQLiteError`.
  package func values(
    of columns: [String],
    of key: ObjectKey
  ) throws -> [AttributeValue]? {
    let list = (["\"_id\""] + columns.map(SQLNames.quoted)).joined(separator: ", ")
    let table = SQLNames.quoted(model.entity(key.entity).name)
    let row = try statement("SELECT \(list) FROM \(table) WHERE \"_id\" = ?")
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return nil }
    return columns.indices.map { row.value(Int32($0 + 1)) }
  }

  /// Returns the positions at which objects belong in the order of a fetch.
  ///
  /// - Parameters:
  ///   - objects: The numbers of matching objects that are not in `sequence`.
  ///   - sequence: The numbers of other objects of the fetch, in its order.
  ///   - plan: The fetch.
  /// - Returns: The objects in order, each with the count of `sequence` elements before the object.
  /// - Throws: `SQLiteError`.
  /// - Complexity: For each object, look-ups that are logarithmic in the sequence's length.
  package func offsets<Objects: RandomAccessCollection<Int64>>(
    of objects: [Int64],
    in sequence: Objects,
    _ plan: FetchPlan
  ) throws -> [(object: Int64, offset: Int)] where Objects.Index == Int {
    let wanted = try objects.map { try ordered($0, plan) }
      .sorted { plan.order.compare($0, $1) < 0 }
    var from = 0
    return try wanted.map { object in
      var (low, high) = (from, sequence.count)
      while low < high {
        let middle = (low + high) / 2
        if plan.order.compare(try ordered(sequence[middle], plan), object) < 0 {
          low = middle + 1
        } else {
          high = middle
        }
      }
      from = low
      return (object.object, low)
    }
  }

  /// Returns the count of former rows that come before an object in the order of a fetch.
  ///
  /// - Parameters:
  ///   - rows: The numbers of objects, each with its former values of `orderColumns`.
  ///   - object: An object of the fetch, with its current sort keys.
  ///   - plan: The fetch, which has `orderColumns`.
  /// - Returns: The number of rows before the object.
  /// - Throws: `SQLiteError`.
  package func count(
    of rows: [(object: Int64, keys: [AttributeValue])],
    before object: Int64,
    _ plan: FetchPlan
  ) throws -> Int {
    guard !rows.isEmpty else { return 0 }
    let bound = try ordered(object, plan)
    return rows.count { row in
      plan.order.compare(OrderedObject(object: row.object, keys: row.keys), bound) < 0
    }
  }

  /// Returns the objects next to an object in the order of a fetch, regardless of its window.
  ///
  /// - Parameters:
  ///   - object: An object of the fetch.
  ///   - plan: The fetch.
  ///   - isBefore: Whether to find the objects before `object`, instead of the objects after it.
  ///   - max: The maximum number of objects.
  /// - Returns: The numbers of the nearest objects, in the order of the fetch, and whether SQLite
  ///   sorted rows to find them.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in `max` if an index has the order; otherwise in all matching objects.
  package func neighbors(
    of object: Int64,
    _ plan: FetchPlan,
    isBefore: Bool,
    max: Int
  ) throws -> (objects: [Int64], isSorted: Bool) {
    guard let cursor = try position(of: object, plan) else { return ([], false) }
    var found: [Int64] = []
    var isSorted = false
    for query in plan.neighbors.queries(from: cursor, isBefore: isBefore) where found.count < max {
      let rows = try statement(query.sql)
      defer { rows.reset() }
      for (index, value) in query.values.enumerated() { rows.bind(value, at: Int32(index + 1)) }
      rows.bind(Int64(max - found.count), at: Int32(query.values.count + 1))
      while try rows.step() { found.append(rows.integer(0)) }
      if rows.takeSortCount() > 0 { isSorted = true }
    }
    return (isBefore ? found.reversed() : found, isSorted)
  }

  /// Reads the sort keys of an object.
  private func ordered(_ object: Int64, _ plan: FetchPlan) throws -> OrderedObject {
    guard plan.order.count > 0 else { return OrderedObject(object: object, keys: []) }
    let row = try statement(plan.order.sql)
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try row.step() else {
      return OrderedObject(object: object, keys: plan.order.missing)
    }
    return OrderedObject(
      object: object,
      keys: (0..<plan.order.count).map { row.value(Int32($0)) }
    )
  }
}

extension FetchOrder {
  /// The sort keys for an object that does not exist: a null for each key.
  fileprivate var missing: [AttributeValue] { Array(repeating: .null, count: count) }
}
