import Testing

/// The imports that each module may have.
///
/// The table repeats the dependencies of `Package.swift`, so that a new dependency there allows no
/// import. A new name in the table is a change of the design: `Sources/ARCHITECTURE.md` states the
/// reason in the same commit.
enum Walls {
  /// The allowed imports of each module: Cordial's modules, packages, and modules of the system.
  static let allowed: [String: Set<String>] = [
    "CordialValues": ["Algorithms"],
    "JSON": [],
    "Interruptions": ["CInterruption", "Dispatch", "Synchronization"],
    "ObjectModel": [
      "CDigest", "CGMP", "CStemmer", "CordialValues", "JSON", "CUnicode", "Interruptions",
      "Synchronization",
    ],
    "ModelTools": ["CordialValues", "JSON", "ObjectModel"],
    "SQLite": [
      "CSQLite", "Interruptions", "Glibc", "Synchronization",
    ],
    "StoreLayout": ["ObjectModel", "CordialValues", "SQLite"],
    "PersistentHistory": [
      "StoreLayout", "CordialValues", "ObjectModel", "JSON", "SQLite", "Algorithms",
    ],
    "PersistentStore": [
      "ObjectModel", "CordialValues", "DequeModule", "OrderedCollections", "PersistentHistory",
      "StoreLayout",
      "JSON", "CUnicode", "Interruptions",
      "SQLite", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch",
    ],
    "Spotlight": [
      "ObjectModel", "CordialValues", "PersistentHistory", "CSpotlight", "CUnicode",
      "Interruptions", "SQLite", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch",
    ],
    "Indexing": [
      "PersistentStore", "Spotlight", "ObjectModel", "CordialValues", "PersistentHistory", "JSON",
      "Synchronization",
    ],
    "JSONRPC": ["JSON", "DequeModule", "Synchronization"],
    "CordialProtocol": ["CordialValues", "JSONRPC", "JSON"],
    "ProtocolSchemas": ["CordialProtocol", "CordialValues", "JSONRPC", "JSON"],
    "XcodeModel": ["CordialValues", "JSON", "CExpat", "FoundationEssentials", "Glibc"],
    "Transport": ["CPosix", "NIOCore", "NIOPosix", "DequeModule", "Glibc", "Synchronization"],
    "CordialService": [
      "CordialValues", "Interruptions", "JSON", "ObjectModel", "PersistentHistory",
      "PersistentStore", "Spotlight", "Indexing", "JSONRPC", "CordialProtocol",
      "ProtocolSchemas", "Algorithms", "Logging", "DequeModule",
      "Synchronization", "Dispatch",
    ],
    "Cordial": [
      "CordialProtocol", "CordialValues", "JSON", "JSONRPC", "Transport", "Logging", "Observation",
      "Synchronization",
    ],
    "CordialFoundation": ["Cordial", "CordialValues", "Foundation"],
    "Engine": [
      "Cordial", "CordialProtocol", "CordialService", "JSON", "JSONRPC", "ObjectModel",
      "PersistentHistory", "PersistentStore", "ProtocolSchemas", "Spotlight", "Indexing",
      "Transport", "XcodeModel", "Logging", "Synchronization", "Glibc",
    ],
    "Mocks": [
      "Engine", "Cordial", "CordialProtocol", "CordialService", "CordialValues", "JSON", "JSONRPC",
      "ObjectModel", "PersistentStore", "ProtocolSchemas", "Transport", "Logging",
      "Synchronization", "Glibc",
    ],
    "CordialEmbedded": [
      "Engine", "Cordial", "CordialService", "CordialValues", "JSON", "JSONRPC", "ObjectModel",
      "PersistentStore", "Spotlight", "Indexing", "Transport", "Logging",
      "ServiceLifecycle", "Synchronization", "Glibc",
    ],
    "Porting": [
      "Cordial", "CordialProtocol", "CordialValues", "JSON", "ObjectModel", "SQLite",
    ],
    "LiveTable": ["CordialProtocol", "JSON"],
    "CordialCLI": [
      "Cordial", "Engine", "Mocks", "CordialService", "CordialProtocol", "JSON", "JSONRPC",
      "LiveTable", "ModelTools", "ObjectModel", "PersistentStore", "Porting", "ProtocolSchemas",
      "Synchronization", "Transport",
      "XcodeModel",
      "ArgumentParser", "Logging",
      "ServiceLifecycle", "UnixSignals",
      "FoundationEssentials",
      "Dispatch", "Glibc",
    ],
  ]

  /// The headers that a C module may include in addition to its own and the C library's.
  static let allowedHeaders: [String: Set<String>] = [
    "CInterruption": [],
    "CPosix": [],
    "CUnicode": ["CInterruption.h", "unicode/"],
    "CSpotlight": ["CInterruption.h", "CUnicode.h", "sqlite3.h", "unicode/"],
    "CSQLite": ["sqlite3.h"],
    "CDigest": ["sha2.h"],
    "CGMP": ["gmp.h"],
    "CStemmer": ["libstemmer.h"],
    "CExpat": ["expat.h"],
  ]
}

@Suite struct `Walls between the modules` {
  @Test func `every module has a row in the table`() {
    for module in Repository.modules {
      #expect(
        Walls.allowed[module] != nil || Walls.allowedHeaders[module] != nil,
        "Sources/\(module) has no row in WallsTests.swift"
      )
    }
    #expect(!Repository.modules.isEmpty, "git lists no file of Sources")
  }

  @Test(arguments: Walls.allowed.keys.sorted())
  func `a module imports what its row allows`(module: String) {
    let allowed = Walls.allowed[module] ?? []
    for (file, number, name) in imports(in: "Sources/\(module)/") where !allowed.contains(name) {
      let list = allowed.sorted().joined(separator: ", ")
      Issue.record(
        "\(file):\(number): \(module) must not import \(name); it may import [\(list)]"
      )
    }
  }

  @Test func `SwiftNIO is imported by Transport and the program only`() {
    for (file, number, name) in imports(in: "Sources/") where name.hasPrefix("NIO") {
      #expect(
        file.hasPrefix("Sources/Transport/") || file.hasPrefix("Sources/CordialCLI/"),
        "\(file):\(number): \(name) belongs behind Transport"
      )
    }
  }

  /// Foundation costs a client some 60 MB when linked statically and milliseconds at its start.
  @Test(arguments: ["Cordial", "Transport", "JSON", "JSONRPC", "CordialProtocol", "CordialValues"])
  func `a module that clients link does not import Foundation`(module: String) {
    for (file, number, name) in imports(in: "Sources/\(module)/") {
      #expect(
        !name.hasPrefix("Foundation"),
        "\(file):\(number): \(module) must not import \(name); use the standard library"
      )
    }
  }

  /// The modules of the Todo program: values without a library, and views without a store.
  @Test(arguments: [
    ("TodoValues", ["CordialValues"]), ("TodoViews", ["Cordial", "CordialValues", "TodoValues"]),
  ])
  func `a module of the example imports no more than it needs`(module: String, allowed: [String]) {
    let found = imports(in: "Tools/outside/Sources/\(module)/")
    #expect(!found.isEmpty)
    for (file, number, name) in found {
      #expect(allowed.contains(name), "\(file):\(number): \(module) must not import \(name)")
    }
  }

  @Test func `no file uses a testable import`() {
    for file in Repository.files(kinds: ["swift"]) where file.contains("@testable") {
      for (index, line) in file.code.enumerated() where line.contains("@testable") {
        Issue.record("\(file.path):\(index + 1): @testable; make it package, or test what is")
      }
    }
  }

  @Test(arguments: Walls.allowedHeaders.keys.sorted())
  func `a C module includes what its row allows`(module: String) {
    let allowed = Walls.allowedHeaders[module] ?? []
    let own = Set(
      Repository.sources.filter { $0.module == module }
        .compactMap { $0.path.split(separator: "/").last.map(String.init) }
    )
    for (file, number, header) in headers(in: "Sources/\(module)/") where !own.contains(header) {
      let isOthers = [
        "sqlite", "unicode/", "gmp", "expat", "sha2", "libstemmer", "CUnicode", "CPosix",
        "CSpotlight",
      ]
      .contains {
        header.hasPrefix($0)
      }
      let isAllowed = allowed.contains(header) || allowed.contains { header.hasPrefix($0) }
      #expect(
        !isOthers || isAllowed,
        "\(file):\(number): \(module) must not include \(header); it may include \(allowed.sorted())"
      )
    }
  }

  /// Swift's Foundation carries its own ICU as a Clang module, and the two clash in one import.
  @Test func `no header that Swift imports includes an ICU header`() {
    for (file, number, header) in headers(in: "Sources/") where file.contains("/include/") {
      #expect(!header.hasPrefix("unicode/"), "\(file):\(number): include \(header) in a .c file")
    }
  }

  private func imports(in folder: String) -> [(file: String, number: Int, name: String)] {
    Repository.files(in: folder, kinds: ["swift"]).flatMap { file in
      file.code.enumerated().flatMap { index, line in
        SwiftText.imports(line).map { (file.path, index + 1, $0) }
      }
    }
  }

  private func headers(in folder: String) -> [(file: String, number: Int, name: String)] {
    Repository.sources.filter { $0.path.hasPrefix(folder) }.flatMap { file in
      file.lines.enumerated().compactMap { index, line in
        guard line.contains("#") else { return nil }
        return line.prefixMatch(of: /\s*#\s*(?:include|import)\s*[<"]([^>"]+)[>"]/)
          .map { (file.path, index + 1, String($0.1)) }
      }
    }
  }
}
