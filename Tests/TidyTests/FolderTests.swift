import Testing

/// A folder of `PersistentStore`, which is a module whose wall the compiler cannot check.
private struct StoreFolder: Sendable, CustomTestStringConvertible {
  let name: String
  let uses: Set<String>

  var testDescription: String { name }
  var path: String { "Sources/PersistentStore/\(name)/" }

  /// The rows of the table of folders in `Sources/ARCHITECTURE.md`.
  static let all: [StoreFolder] = (TextFile(path: "Sources/ARCHITECTURE.md")?.lines ?? [])
    .compactMap { line in
      guard let row = line.wholeMatch(of: /\| `PersistentStore\/(\w+)` \| [^|]+ \| ([^|]+) \|/)
      else { return nil }
      let uses = row.2.split(separator: ",").map { $0.filter { !$0.isWhitespace } }
      return StoreFolder(name: String(row.1), uses: Set(uses == ["–"] ? [] : uses))
    }

  /// The files of the folder.
  var files: [TextFile] { Repository.sources.filter { $0.path.hasPrefix(path) } }

  /// The names of the types that the folder declares for other files.
  var types: [String] { files.flatMap(FolderNames.declared) }
}

/// Names of types in Swift code.
private enum FolderNames {
  /// Returns the types at the top level of a file that other files can use.
  static func declared(_ file: TextFile) -> [String] {
    let kinds = /(?:package |public |final |indirect )*(?:struct|class|enum|protocol|actor) (\w+)/
    let alias = /(?:package |public )*typealias (\w+)/
    return file.code.compactMap { line in
      (line.prefixMatch(of: kinds)?.1 ?? line.prefixMatch(of: alias)?.1).map { String($0) }
    }
  }

  /// Returns the words of a file's code with the numbers of their first lines.
  static func words(_ file: TextFile) -> [String: Int] {
    var words: [String: Int] = [:]
    for (index, line) in file.code.enumerated() {
      for word in line.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) {
        words[String(word)] = words[String(word)] ?? index + 1
      }
    }
    return words
  }
}

@Suite struct `The wall around live queries` {
  private static let folder = "Sources/CordialService/LiveQueries/"
  /// The types of the rest of the service that the folder may name.
  private static let known: Set<String> = ["Limits", "HistoryEncoder", "EntityNames"]

  @Test func `the folder knows neither connections nor the index`() {
    let service = Repository.sources.filter { $0.path.hasPrefix("Sources/CordialService/") }
    let files = service.filter { $0.path.hasPrefix(Self.folder) }
    let rest = service.filter { !$0.path.hasPrefix(Self.folder) }
    #expect(files.count > 20)
    let own = Set(files.flatMap(FolderNames.declared))
    let foreign = Set(rest.flatMap(FolderNames.declared)).subtracting(own)
    #expect(foreign.isSuperset(of: Self.known.union(["Service", "Session", "Request"])))
    var named: Set<String> = []
    for file in files {
      for module in ["Spotlight", "Logging", "Transport"] {
        #expect(!file.code.contains { $0.hasSuffix("import \(module)") }, "\(file.path)")
      }
      for (word, line) in FolderNames.words(file) where foreign.contains(word) {
        named.insert(word)
        #expect(Self.known.contains(word), "\(file.path):\(line) names \(word)")
      }
    }
    #expect(named == Self.known)
  }
}

@Suite struct `The wall around matching` {
  private static let folder = "Sources/CordialService/LiveQueries/Matching/"

  @Test func `the folder knows changes and requests only`() {
    let service = Repository.sources.filter { $0.path.hasPrefix("Sources/CordialService/") }
    let files = service.filter { $0.path.hasPrefix(Self.folder) }
    #expect(files.count > 5)
    let own = Set(files.flatMap(FolderNames.declared))
    let foreign = Set(service.flatMap(FolderNames.declared)).subtracting(own)
    let imports: Set<String> = ["CordialValues", "ObjectModel", "Algorithms"]
    for file in files {
      for match in file.code.compactMap({ $0.firstMatch(of: /^(?:package )?import (\w+)/) }) {
        #expect(imports.contains(String(match.1)), "\(file.path) imports \(match.1)")
      }
      for (word, line) in FolderNames.words(file) where foreign.contains(word) {
        Issue.record("\(file.path):\(line) names \(word)")
      }
    }
  }
}

@Suite struct `Walls between the folders of the store` {
  @Test func `each folder has a row, and each row a folder`() {
    let folders = Set(
      Repository.sources.filter { $0.path.hasPrefix("Sources/PersistentStore/") }
        .map { $0.path.split(separator: "/") }.filter { $0.count > 3 }.map { String($0[2]) }
    )
    #expect(folders == Set(StoreFolder.all.map(\.name)))
    #expect(folders.count == 6)
  }

  @Test(arguments: StoreFolder.all)
  fileprivate func `a folder names types of the folders in its row only`(folder: StoreFolder) {
    #expect(!folder.files.isEmpty)
    let own = Set(folder.types)
    var foreign: [String: String] = [:]
    for other in StoreFolder.all where other.name != folder.name {
      for type in other.types { foreign[type] = other.name }
    }
    let top = Repository.sources.filter { file in
      file.path.hasPrefix("Sources/PersistentStore/") && file.path.split(separator: "/").count == 3
    }
    for type in top.flatMap(FolderNames.declared) { foreign[type] = "the folder above" }
    for file in folder.files {
      for (word, line) in FolderNames.words(file).sorted(by: { $0.value < $1.value }) {
        guard let home = foreign[word], !own.contains(word), !folder.uses.contains(home) else {
          continue
        }
        Issue.record(
          "\(file.path):\(line): \(folder.name) must not use \(word) of \(home)"
        )
      }
    }
  }

  @Test(arguments: StoreFolder.all)
  fileprivate func `a folder uses each folder in its row`(folder: StoreFolder) {
    let words = folder.files.reduce(into: Set<String>()) {
      $0.formUnion(FolderNames.words($1).keys)
    }
    for name in folder.uses {
      let used = StoreFolder.all.first { $0.name == name }
      #expect(used?.types.contains(where: words.contains) == true, "\(folder.name) uses no \(name)")
    }
  }

  @Test func `no folder uses itself by way of another`() {
    for start in StoreFolder.all {
      var reached: Set<String> = []
      var waiting = [start.name]
      while let name = waiting.popLast() {
        let next = StoreFolder.all.first { $0.name == name }?.uses ?? []
        for other in next where reached.insert(other).inserted { waiting.append(other) }
      }
      #expect(!reached.contains(start.name))
    }
  }
}
