/// One key of an index or of a sort: a path, its direction and its collation.
package struct IndexKey: Sendable {
  package let name: String
  package let descends: Bool
  /// Whether texts compare by ICU's collation.
  package let isLocalized: Bool

  /// Reads a key: `createDate`, `-createDate` for descending order, or `title:localized`.
  package init(_ text: String) {
    var name = Substring(text)
    descends = name.hasPrefix("-")
    if descends { name = name.dropFirst() }
    isLocalized = name.hasSuffix(":localized")
    if isLocalized { name = name.dropLast(":localized".count) }
    self.name = String(name)
  }
}
