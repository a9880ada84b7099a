import CordialProtocol
import JSON
import JSONRPC
import ProtocolSchemas
import Testing

@Suite struct `Params of requests` {
  private func message(_ params: JSONValue, _ method: Method) -> String? {
    do throws(RPCError) {
      _ = try method.checked(params)
      return nil
    } catch {
      #expect(error.code == RPCError.Code.invalidParams.rawValue)
      return error.message
    }
  }

  @Test(arguments: MethodTable.all.map(\.name))
  func `the example of a method is valid`(name: String) throws {
    let method = try #require(MethodTable.all.first { $0.name == name })
    #expect(message(method.example, method) == nil)
    #expect(!method.summary.isEmpty)
  }

  @Test(arguments: MethodTable.all.filter(\.isRequest).map(\.name))
  func `a member that a method does not know is refused by name`(name: String) throws {
    let method = try #require(MethodTable.method(named: name))
    let members = (method.example.members ?? []) + [JSONMember("notAMember", 1)]
    let text = try #require(message(.object(members), method))
    #expect(text.contains("notAMember is unknown"))
    #expect(text.hasPrefix(name))
  }

  @Test(arguments: MethodTable.all.filter { $0.params.contains(where: \.isRequired) }.map(\.name))
  func `a required member that is missing is named`(name: String) throws {
    let method = try #require(MethodTable.all.first { $0.name == name })
    for field in method.params where field.isRequired {
      let members = (method.example.members ?? []).filter { $0.name != field.name }
      #expect(message(.object(members), method)?.contains("\(field.name) is missing") == true)
    }
  }

  @Test func `nothing, null and an empty list are no params`() {
    let method = UndoCall.method
    for params in [.null, [], [:]] as [JSONValue] { #expect(message(params, method) == nil) }
    #expect(message([1], method)?.contains("by name, in an object") == true)
    #expect(message("count", method)?.contains("by name, in an object") == true)
  }

  @Test func `a null member counts as absent, and every method takes the tokens of LSP`() {
    #expect(message(["count": .null], UndoCall.method) == nil)
    #expect(message(["workDoneToken": "w", "_meta": [:]], UndoCall.method) == nil)
  }

  @Test func `a wrong value is named by its path, with what is valid`() {
    for (params, expected) in [
      (["count": 0], "count wants an integer from 1 to 1000, found 0"),
      (["count": "1"], "count wants an integer from 1 to 1000, found \"1\""),
      (["mergePolicy": "mine"], "mergePolicy wants \"error\" or \"storeTrump\", found \"mine\""),
      (["dryRun": 1], "dryRun wants true or false, found 1"),
    ] as [(JSONValue, String)] {
      #expect(message(params, UndoCall.method) == "undo: \(expected)")
    }
    let nested: JSONValue = ["insert": [["id": "A/t1"], ["id": 5]]]
    #expect(message(nested, SaveCall.method)?.contains("insert[1].id") == true)
  }
}

@Suite struct `The table of methods` {
  @Test func `names are unique, and only requests to the service can be called`() {
    let names = MethodTable.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(MethodTable.method(named: "fetch")?.isRequest == true)
    #expect(MethodTable.method(named: "changes") == nil)
    #expect(MethodTable.method(named: "FETCH") == nil)
  }

  @Test func `codes of errors are unique and outside the range of JSON-RPC`() {
    let codes = ErrorName.allCases.map(\.code)
    #expect(Set(codes).count == codes.count)
    #expect(codes.allSatisfy { !(-32768...(-32000)).contains($0) })
  }
}
