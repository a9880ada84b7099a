import Foundation
import Testing

// Evidence: P-135a
@Suite struct `The command line and the protocol` {
  /// The methods and notifications that belong to one connection, which no script needs.
  private static let ofConnections: Set<String> = [
    "initialize", "initialized", "shutdown", "exit", "$/cancelRequest", "$/setTrace", "unobserve",
    "changes", "rpc.discover",
  ]

  @Test func `each method has a command`() throws {
    let document = try Data(
      contentsOf: Repository.root.appending(path: "Protocol/openrpc.json")
    )
    let methods = try #require(
      (try JSONSerialization.jsonObject(with: document) as? [String: Any])?["methods"]
        as? [[String: Any]]
    )
    let names = Set(methods.compactMap { $0["name"] as? String }).subtracting(Self.ofConnections)
    #expect(names.count > 20)
    let files =
      Repository.files(in: "Sources/CordialCLI/", kinds: ["swift"])
      + Repository.files(in: "Sources/Porting/", kinds: ["swift"])
    let source = files.flatMap(\.lines).joined(separator: "\n")
    for name in names.sorted() {
      #expect(source.contains("\"\(name)\""), "no command calls \(name)")
    }
  }
}
