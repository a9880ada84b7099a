import Testing

/// A row of the table of modules in `Sources/ARCHITECTURE.md`.
private struct ModuleRow {
  let names: [String]
  /// The modules and packages that it uses.
  let uses: Set<String>

  /// The rows of the table, in their order.
  static let all: [ModuleRow] = (TextFile(path: "Sources/ARCHITECTURE.md")?.lines ?? []).compactMap
  { line in
    let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      .map { $0.trimmingPrefix(while: \.isWhitespace) }
    guard cells.count == 6, cells[1].hasPrefix("`") else { return nil }
    let uses = words(cells[3])
    return ModuleRow(names: words(cells[1]), uses: Set(uses == ["–"] ? [] : uses))
  }

  private static func words(_ cell: some StringProtocol) -> [String] {
    cell.split(separator: ",").map { word in
      String(word.filter { !$0.isWhitespace && $0 != "`" })
    }.filter { !$0.isEmpty }
  }
}

@Suite struct `The table of the modules` {
  /// Modules of the system and the toolchain, which the table leaves out.
  private static let system: Set<String> = [
    "Dispatch", "Foundation", "FoundationEssentials", "FoundationXML", "Glibc", "Observation",
    "Synchronization",
  ]

  @Test func `each module has one row`() {
    let names = ModuleRow.all.flatMap(\.names)
    #expect(names.count == Set(names).count, "A module has two rows")
    for module in Repository.modules {
      #expect(names.contains(module), "Sources/ARCHITECTURE.md has no row for \(module)")
    }
    for name in names {
      #expect(Repository.modules.contains(name), "There is no module \(name)")
    }
  }

  @Test(arguments: Walls.allowed.keys.sorted())
  func `the row of a module lists its allowed imports`(module: String) {
    let allowed = (Walls.allowed[module] ?? []).subtracting(Self.system)
    let drawn = ModuleRow.all.first { $0.names.contains(module) }?.uses ?? []
    #expect(
      drawn == allowed,
      """
      Sources/ARCHITECTURE.md and WallsTests.swift differ about \(module): \
      only in the table \(drawn.subtracting(allowed).sorted()), \
      only in the walls \(allowed.subtracting(drawn).sorted())
      """
    )
  }

  @Test(arguments: Walls.allowed.keys.sorted())
  func `a module imports everything that it may import`(module: String) {
    let imported = Set(
      Repository.sources.filter { $0.module == module }.flatMap { file in
        file.code.flatMap { SwiftText.imports($0) }
      }
    )
    let unused = (Walls.allowed[module] ?? []).subtracting(imported)
    #expect(unused.isEmpty, "\(module) imports none of \(unused.sorted()): remove them")
  }

  @Test func `no module depends on itself`() {
    for start in Walls.allowed.keys {
      var reached: Set<String> = []
      var waiting = [start]
      while let module = waiting.popLast() {
        for next in Walls.allowed[module] ?? [] where reached.insert(next).inserted {
          waiting.append(next)
        }
      }
      #expect(!reached.contains(start), "\(start) uses itself")
    }
  }
}

/// Text for users names commands and methods only where the user gives them.
@Suite struct `Words of the surface` {
  /// The modules below the service, which do not know how their user reaches them.
  private static let below: Set = [
    "SQLite", "StoreLayout", "PersistentHistory", "PersistentStore", "Spotlight", "Transport",
  ]

  /// An option, a command of the program, or a method of the protocol inside a string literal.
  private static func makeWords() -> Regex<Substring> {
    #/
    "[^"]*(?:
      [\ ]--[a-z]{3,}
      | \bcordial[\ ](?:backup|call|compact|delete|doctor|export|fetch|followers|get|history|import
        |index|init|model|protocol|redo|restore|save|search|serve|status|subscriptions|undo|update
        |watch)\b
      | \b(?:follower|history|index|observe|store)/[a-z]+\b
    )[^"]*"
    /#
  }

  @Test func `no module below the service names a command or a method in a message`() {
    let files = Repository.sources.filter { $0.module.map(Self.below.contains) ?? false }
    #expect(files.count > 50)
    let words = Self.makeWords()
    for file in files where file.path.hasSuffix(".swift") {
      for (index, line) in file.lines.enumerated()
      where line.utf8.contains(UInt8(ascii: "\""))
        && !line.drop(while: { $0 == " " }).hasPrefix("//") && line.contains(words)
      {
        Issue.record("\(file.path):\(index + 1): \(line)")
      }
    }
  }

  @Test func `the search for them finds what it searches for`() {
    let words = Self.makeWords()
    for text in [
      #"hint: "Serve it without --read-only to write""#, #""Try: cordial init STORE""#,
      #""follower/register creates one""#, #""See what `cordial doctor` finds""#,
    ] {
      #expect(text.contains(words), "\(text)")
    }
    for text in [#""a - b -- c""#, #""cordial_meta""#, "// cordial init", #""a history of it""#] {
      #expect(!text.contains(words), "\(text)")
    }
  }
}

@Suite struct `The names of the wire` {
  private static let modules = [
    "Cordial", "CordialCLI", "CordialEmbedded", "CordialProtocol", "CordialService", "Engine",
    "LiveTable", "Mocks", "Porting", "ProtocolSchemas",
  ]

  /// Files of other formats, which have members of the same names.
  private static let otherFormats = [
    "Cordial/Drafts/DraftedModel.swift": "model files",
    "Cordial/Drafts/ModelDraft.swift": "model files",
    "Cordial/Values/ModelSchema.swift": "model files",
    "Mocks/MockModel.swift": "model files",
    "Mocks/MockScript.swift": "scripts of mocks",
    "Mocks/MockScript+Recording.swift": "recordings",
    "Mocks/Recorder.swift": "recordings",
    "ProtocolSchemas/OpenRPC.swift": "OpenRPC documents",
    "ProtocolSchemas/Schema.swift": "JSON Schema",
    "ProtocolSchemas/ExampleResults.swift": "recorded results",
  ]

  @Test func `are literals in one file only`() throws {
    let file = try #require(TextFile(path: "Sources/CordialProtocol/MemberName.swift"))
    let names = Set(
      file.code.filter { $0.hasPrefix("  case ") }.flatMap { line in
        line.dropFirst(7).split(separator: ",").map { $0.filter { $0.isLetter } }
      }
    )
    #expect(names.count > 190)
    // A name in a subscript, as the name of a member, or in text that is written as it is.
    let literal =
      #/
      [\w)\]?]\["(\w+)"\] | JSONMember\(\s*"(\w+)" | \w\.raw\(.*\\"(\w+)\\":
      | \.name\ [!=]=\ "(\w+)"
      /#
    var exceptions: Set<String> = []
    for file in Repository.sources {
      guard let module = file.module, Self.modules.contains(module) else { continue }
      for (index, line) in file.lines.enumerated() {
        for match in line.matches(of: literal) {
          let name = String(match.1 ?? match.2 ?? match.3 ?? match.4 ?? "")
          guard names.contains(name) else { continue }
          let path = String(file.path.dropFirst("Sources/".count))
          exceptions.insert(path)
          #expect(Self.otherFormats[path] != nil, "\(path):\(index + 1): write .\(name)")
        }
      }
    }
    #expect(exceptions.isSubset(of: Self.otherFormats.keys))
    #expect(exceptions.count > 5)
  }
}

/// The tasks for which the documentation lists every file to edit.
@Suite struct `Common changes` {
  /// Returns the files of `Sources` whose code contains a word.
  private func files(with word: String, in folder: String = "Sources/") -> [String] {
    Repository.sources.filter { file in
      file.path.hasPrefix(folder) && file.code.contains { $0.contains(word) }
    }.map(\.path)
  }

  @Test func `a method is a type, a description with its row, a handler and a command`() {
    #expect(
      Set(files(with: "CompactCall")) == [
        "Sources/CordialProtocol/Calls/StoreCalls.swift",
        "Sources/ProtocolSchemas/Requests/Maintenance.swift",
        "Sources/ProtocolSchemas/MethodTable.swift",
        "Sources/CordialService/Methods/Handlers.swift",
        "Sources/CordialService/Methods/Maintenance+Handler.swift",
        "Sources/CordialCLI/Commands/MaintenanceCommands.swift",
      ]
    )
  }

  /// The requests that the command line needs no command for.
  private static let withoutCommand: Set<String> = [
    // The program begins and ends its connections itself, and prints what `rpc.discover` returns.
    "initialize", "shutdown", "discover",
    // The end of `watch` ends its connection.
    "unobserve",
  ]

  /// The requests that the client library has no function for.
  private static let withoutFunction: Set<String> = [
    "shutdown", "discover", "delete", "update", "flush", "listSubscriptions", "explainSearch",
    "indexStatus", "verifyIndex", "rebuildIndex", "pauseIndex", "resumeIndex", "purgeHistory",
    "listFollowers", "removeFollower", "status", "backupStore", "verifyStore", "compactStore",
  ]

  // Evidence: P-135a
  @Test func `a method has a clause, a command and a function of the client`() throws {
    /// The methods by the names of their types.
    var requests: [String: String] = [:]
    for file in Repository.sources where file.path.hasPrefix("Sources/CordialProtocol/Calls/") {
      var type = ""
      for line in file.code {
        if let match = line.firstMatch(of: /struct (\w+Call): Call/) { type = String(match.1) }
        if let match = line.firstMatch(of: /static let name = MethodName\.(\w+)/), !type.isEmpty {
          requests[type] = String(match.1)
          type = ""
        }
      }
    }
    let wire = try #require(TextFile(path: "Sources/CordialProtocol/MethodName.swift"))
    let names = Dictionary(
      uniqueKeysWithValues: wire.lines.compactMap { line in
        line.firstMatch(of: /case (\w+)(?: = "(.+)")?/).map { match in
          (String(match.1), String(match.2 ?? match.1))
        }
      }
    )
    let notifications: Set = ["initialized", "exit", "cancelRequest", "setTrace", "changes"]
    #expect(Set(requests.values) == Set(names.keys).subtracting(notifications))
    let clauses = try #require(TextFile(path: "Protocol/protocol.md")).lines
    for request in requests.values {
      let name = try #require(names[request])
      #expect(
        clauses.contains { $0.hasPrefix("**P-") && $0.contains("`\(name)") },
        "Protocol/protocol.md has no clause about \(name)"
      )
    }
    /// Returns the requests that no code of a folder makes.
    func uncalled(in folder: String) -> Set<String> {
      let code = Repository.sources.filter { $0.path.hasPrefix(folder) }.flatMap(\.code)
        .joined(separator: "\n")
      let pattern = /(\w+Call)(?:\(|\.init)|MethodName\.(\w+)\.rawValue/
      let made = code.matches(of: pattern).compactMap { match in
        match.1.flatMap { requests[String($0)] } ?? match.2.map(String.init)
      }
      return Set(requests.values).subtracting(made)
    }
    #expect(uncalled(in: "Sources/CordialCLI/") == Self.withoutCommand)
    #expect(uncalled(in: "Sources/Cordial/") == Self.withoutFunction)
  }

  /// The names that only `AttributeType` has: `AttributeValue` has no cases of these names.
  @Test func `an attribute type is a codec, a name in the schema and a generator`() {
    let distinguishing = Repository.sources.filter { file in
      file.path.hasPrefix("Sources/") && file.code.contains { $0.contains(/\.(?:int16|float)\b/) }
    }
    #expect(
      Set(distinguishing.map(\.path)) == [
        "Sources/ObjectModel/AttributeCodec.swift", "Sources/ObjectModel/AttributeCodecs.swift",
      ]
    )
  }

  @Test func `a kind of live query is a type and a line`() {
    let folder = "Sources/CordialService/LiveQueries/Queries/"
    // The index has its kind of query in a folder that knows it.
    let hits = "Sources/CordialService/Observing/HitsQuery.swift"
    let kinds = Repository.sources.filter { $0.path.hasPrefix("Sources/") }.flatMap { file in
      file.code.filter { $0.contains(": LiveQuery") }.compactMap { line in
        line.firstMatch(of: /(?:struct|class|enum) (\w+): LiveQuery\b/).map { match in
          (name: String(match.1), file: file.path)
        }
      }
    }
    #expect(kinds.count >= 6)
    for kind in kinds {
      #expect(kind.file.hasPrefix(folder) || kind.file == hits, "\(kind.file)")
      let maker =
        kind.file == hits
        ? "Sources/CordialService/Methods/Observe+Handler.swift"
        : folder + "ResultReader+Compile.swift"
      let places = files(with: kind.name).filter { !$0.hasPrefix(folder) && $0 != hits }
      #expect(places == (kind.file == hits ? [maker] : []), "\(places) name \(kind.name)")
      #expect(files(with: kind.name).contains(maker), "Nothing makes a \(kind.name)")
    }
  }

  @Test func `what depends on a protocol asks the dialect`() {
    let asking = Repository.sources.filter { file in
      file.path.hasPrefix("Sources/CordialService/")
        && file.code.contains { $0.contains(/framing [!=]= \.|case \.(?:line|header)\b/) }
    }
    #expect(asking.map(\.path) == [])
    let known = files(with: ".needsHandshake", in: "Sources/CordialService/")
    #expect(!known.isEmpty)
  }

  @Test func `a follower of the log is a type and a line`() {
    let followers = Repository.sources.filter { $0.path.hasPrefix("Sources/") }.flatMap { file in
      file.code.filter { $0.contains(": LogFollower") }.compactMap { line in
        line.firstMatch(of: /class (\w+): LogFollower\b/).map { (String($0.1), file.path) }
      }
    }
    #expect(followers.count >= 2)
    let code = Repository.sources.filter { $0.path.hasPrefix("Sources/") }.flatMap { $0.code }
    let mentions = code.filter { $0.contains(": LogFollower") || $0.contains(", LogFollower") }
    #expect(mentions.count == followers.count, "A follower is a class: \(mentions)")
    // The search index is also what searches use.
    for (name, file) in followers where name != "SearchIndex" {
      let makers = files(with: name).filter { $0 != file }
      #expect(makers.count == 1, "\(makers) make the follower \(name)")
    }
  }
}
