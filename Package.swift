// swift-tools-version: 6.2
import PackageDescription

// Targets stand in reading order: what is held, the store, what follows it, the wire, where they
// join. Who may import whom is written a second time in Tests/TidyTests, which checks every import.
let package = Package(
  name: "cordial",
  products: [
    .executable(name: "cordial", targets: ["CordialCLI"]),
    .library(name: "CordialValues", targets: ["CordialValues"]),
    .library(name: "Cordial", targets: ["Cordial"]),
    .library(name: "CordialFoundation", targets: ["CordialFoundation"]),
    .library(name: "CordialEmbedded", targets: ["CordialEmbedded"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-algorithms", from: "1.2.1"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // MARK: What is held: values and models, no I/O.

    .module(
      "CordialValues",
      uses: [.product(name: "Algorithms", package: "swift-algorithms")]
    ),
    .module("JSON"),
    .module("Interruptions", uses: ["CInterruption"]),
    .module(
      "ObjectModel",
      designs: ["DESIGN.md"],
      uses: [
        "CordialValues", "JSON", "CDigest", "CGMP", "CStemmer", "CUnicode", "Interruptions",
      ]
    ),
    .module("ModelTools", uses: ["ObjectModel", "CordialValues", "JSON"]),

    // MARK: C: what Swift cannot see.

    .target(name: "CInterruption"),
    .target(name: "CPosix"),
    .target(
      name: "CUnicode",
      dependencies: ["CInterruption"],
      linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]
    ),
    .target(
      name: "CSpotlight",
      dependencies: ["CInterruption", "CUnicode"],
      linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("icuuc")]
    ),

    .systemLibrary(name: "CDigest", providers: [.apt(["libmd-dev"])]),
    .systemLibrary(name: "CGMP", providers: [.apt(["libgmp-dev"])]),
    .systemLibrary(name: "CStemmer", providers: [.apt(["libstemmer-dev"])]),
    .systemLibrary(name: "CExpat", providers: [.apt(["libexpat1-dev"])]),
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),

    // MARK: The store: the only storey that writes rows.

    .module("SQLite", uses: ["CSQLite", "Interruptions"]),
    .module(
      "StoreLayout",
      designs: ["DESIGN.md"],
      uses: ["ObjectModel", "CordialValues", "SQLite"]
    ),
    .module(
      "PersistentHistory",
      designs: ["DESIGN.md"],
      uses: [
        "StoreLayout", "ObjectModel", "CordialValues", "JSON", "SQLite",
        .product(name: "Algorithms", package: "swift-algorithms"),
      ]
    ),
    .module(
      "PersistentStore",
      designs: ["DESIGN.md"],
      uses: [
        "StoreLayout", "PersistentHistory", "ObjectModel", "CordialValues", "JSON", "CUnicode",
        "Interruptions", "SQLite",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "OrderedCollections", package: "swift-collections"),
      ]
    ),

    // MARK: Followers of the log.

    .module(
      "Spotlight",
      designs: ["DESIGN.md"],
      uses: [
        "ObjectModel", "CordialValues", "PersistentHistory", "CSpotlight", "CUnicode",
        "Interruptions", "SQLite",
      ]
    ),

    .module(
      "Indexing",
      uses: [
        "PersistentStore", "Spotlight", "ObjectModel", "CordialValues", "PersistentHistory", "JSON",
      ]
    ),

    // MARK: The wire.

    .module(
      "JSONRPC",
      uses: ["JSON", .product(name: "DequeModule", package: "swift-collections")]
    ),
    .module("CordialProtocol", uses: ["CordialValues", "JSONRPC", "JSON"]),
    .module(
      "ProtocolSchemas",
      uses: ["CordialProtocol", "CordialValues", "JSONRPC", "JSON"]
    ),
    .module(
      "Transport",
      uses: [
        "CPosix",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "DequeModule", package: "swift-collections"),
      ]
    ),

    .module("XcodeModel", uses: ["CordialValues", "JSON", "CExpat"]),
    .module("LiveTable", uses: ["CordialProtocol", "JSON"]),

    // MARK: Where they join.

    .module(
      "CordialService",
      designs: ["DESIGN.md", "LiveQueries/DESIGN.md"],
      uses: [
        "CordialValues", "Interruptions", "JSON", "ObjectModel", "PersistentHistory",
        "PersistentStore", "Spotlight", "Indexing", "JSONRPC", "CordialProtocol",
        "ProtocolSchemas",
        .product(name: "Algorithms", package: "swift-algorithms"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "DequeModule", package: "swift-collections"),
      ]
    ),
    .module(
      "Cordial",
      designs: ["DESIGN.md"],
      uses: [
        "CordialProtocol", "CordialValues", "JSONRPC", "JSON", "Transport",
        .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .module("CordialFoundation", uses: ["Cordial", "CordialValues"]),
    .module(
      "Porting",
      designs: ["DESIGN.md"],
      uses: ["Cordial", "CordialProtocol", "CordialValues", "JSON", "ObjectModel", "SQLite"]
    ),
    .module(
      "Engine",
      uses: [
        "Cordial", "CordialProtocol", "CordialService", "JSON", "JSONRPC", "ObjectModel",
        "ProtocolSchemas", "PersistentHistory", "PersistentStore", "Spotlight", "Indexing",
        "Transport", "XcodeModel", .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .module(
      "Mocks",
      designs: ["DESIGN.md"],
      uses: [
        "Engine", "Cordial", "CordialProtocol", "CordialService", "CordialValues", "JSON",
        "JSONRPC", "ObjectModel", "ProtocolSchemas", "PersistentStore", "Transport",
        .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .module(
      "CordialEmbedded",
      uses: [
        "Engine", "Cordial", "CordialService", "CordialValues", "JSON", "JSONRPC", "ObjectModel",
        "PersistentStore", "Spotlight", "Indexing", "Transport",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]
    ),
    .executableTarget(
      name: "CordialCLI",
      dependencies: [
        "Cordial", "Engine", "Mocks", "CordialService", "CordialProtocol", "JSON", "JSONRPC",
        "LiveTable", "ModelTools", "ObjectModel", "PersistentStore", "Porting", "ProtocolSchemas",
        "Transport", "XcodeModel",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: .strict
    ),

    // MARK: Measuring and testing.

    .target(name: "CHeap", path: "Tools/benchmark-heap"),
    .target(
      name: "CWords",
      path: "Tools/benchmark-words",
      linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("icuuc")]
    ),
    .executableTarget(
      name: "cordial-bench",
      dependencies: [
        "CHeap", "CWords", "Cordial", "CordialProtocol", "CordialValues", "JSON", "CSpotlight",
        "CSQLite",
      ],
      path: "Tools/benchmark",
      swiftSettings: .strict
    ),
    .target(name: "TestSeeds", path: "Tests/TestSeeds", swiftSettings: .strict),
    .tests("JSONTests", uses: ["JSON", "TestSeeds"]),
    .tests("SQLiteTests", uses: ["SQLite", "Interruptions", "TestSeeds", "TestStores"]),
    .tests("CordialValuesTests", uses: ["CordialValues", "TestSeeds"]),
    .tests(
      "ObjectModelTests",
      uses: ["ObjectModel", "CUnicode", "CordialValues", "Interruptions", "JSON", "TestSeeds"]
    ),
    .tests("ModelToolsTests", uses: ["ModelTools", "ObjectModel", "JSON"]),
    .tests(
      "XcodeModelTests",
      uses: ["XcodeModel", "ObjectModel", "CordialValues", "JSON", "TestSeeds", "TestStores"]
    ),
    .tests("LiveTableTests", uses: ["LiveTable", "JSON", "TestSeeds"]),
    .tests("JSONRPCTests", uses: ["JSONRPC", "JSON", "TestSeeds"]),
    .target(
      name: "TestStores",
      dependencies: [
        "CordialService", "PersistentStore", "PersistentHistory", "ObjectModel", "CordialValues",
        "JSON", "CSQLite", "Transport",
      ],
      path: "Tests/TestStores",
      swiftSettings: .strict
    ),
    .tests(
      "PersistentHistoryTests",
      uses: [
        "PersistentHistory", "PersistentStore", "StoreLayout", "ObjectModel", "CordialValues",
        "JSON", "TestSeeds", "TestStores",
      ]
    ),
    .tests(
      "PersistentStoreTests",
      uses: [
        "PersistentStore", "PersistentHistory", "StoreLayout", "ObjectModel", "CordialValues",
        "Interruptions", "JSON", "Porting", "Cordial", "Engine",
        "TestSeeds", "TestStores", .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .tests(
      "SpotlightTests",
      uses: [
        "Spotlight", "CSpotlight", "Indexing", "Interruptions", "CordialService",
        "PersistentStore", "PersistentHistory",
        "ObjectModel", "CordialValues", "JSON", "TestSeeds", "TestStores",
      ]
    ),
    .tests(
      "CordialServiceTests",
      uses: [
        "CordialService", "CordialProtocol", "ProtocolSchemas", "PersistentStore",
        "PersistentHistory", "Spotlight", "Indexing", "ObjectModel", "JSONRPC", "JSON",
        "TestSeeds", "TestStores",
        .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .tests(
      "PortingTests",
      uses: [
        "Porting", "Cordial", "CordialProtocol", "Engine", "PersistentStore",
        "ObjectModel", "JSON",
        "TestSeeds", "TestStores", .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .tests(
      "EngineTests",
      uses: [
        "Engine", "Cordial", "CordialService", "CordialValues", "JSON", "JSONRPC", "ObjectModel",
        "PersistentHistory", "PersistentStore", "TestStores", "Transport",
        .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .tests(
      "MocksTests",
      uses: [
        "Mocks", "Engine", "CordialService", "JSON", "JSONRPC", "PersistentStore", "TestStores",
        "Transport", .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .tests(
      "CordialEmbeddedTests",
      uses: [
        "Cordial", "CordialEmbedded", "CordialValues", "TestStores",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]
    ),
    .tests(
      "ProtocolSchemasTests",
      uses: ["ProtocolSchemas", "CordialProtocol", "JSON", "JSONRPC"]
    ),
    .tests(
      "CordialTests",
      uses: [
        "Cordial", "CordialProtocol", "Engine", "CordialValues", "JSON", "ObjectModel",
        "PersistentStore",
        "TestSeeds", "TestStores", .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .tests(
      "CordialFoundationTests",
      uses: ["CordialFoundation", "Cordial", "CordialValues", "JSON"]
    ),
    .tests("TransportTests", uses: ["Transport", "TestStores"]),
    .tests("BinaryTests", uses: ["TestSeeds"]),
    .tests("TidyTests", uses: []),
  ],
  swiftLanguageModes: [.v6]
)

extension Target {
  /// A library module of this package, under the settings that all of them share.
  ///
  /// `designs` names the documents in its folder.
  static func module(
    _ name: String,
    designs: [String] = [],
    uses dependencies: [Target.Dependency] = []
  ) -> Target {
    .target(
      name: name,
      dependencies: dependencies,
      exclude: designs,
      swiftSettings: .strict
    )
  }

  /// The test suite of one module.
  static func tests(_ name: String, uses dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: .strict)
  }
}

extension [SwiftSetting] {
  /// The next language mode's features now, no warnings, and the word `unsafe` where C is called.
  static var strict: [SwiftSetting] {
    [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("ImmutableWeakCaptures"),
      .enableUpcomingFeature("InferIsolatedConformances"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      .treatAllWarnings(as: .error),
      .strictMemorySafety(),
    ]
  }
}
