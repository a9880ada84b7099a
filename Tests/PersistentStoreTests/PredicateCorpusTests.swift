import JSON
import PersistentStore
import TestStores
import Testing

// Evidence: P-052a
@Suite struct `Predicates as applications write them` {
  private static let corpora = [
    ("feeds", PredicateCorpusModels.feeds, PredicateCorpus.feeds),
    ("shop", PredicateCorpusModels.shop, PredicateCorpus.shop),
    ("chat", PredicateCorpusModels.chat, PredicateCorpus.chat),
    ("notes", PredicateCorpusModels.notes, PredicateCorpus.notes),
    ("rare", PredicateCorpusModels.chat, PredicateCorpus.rareChat),
  ]

  @Test(arguments: corpora.indices)
  func `each is compiled and evaluated`(index: Int) throws {
    let (name, model, shapes) = Self.corpora[index]
    let store = try TestStore(model)
    #expect(!shapes.isEmpty, "\(name)")
    for shape in shapes {
      let predicate = JSONValue.string(shape.predicate).text
      let request =
        #"{"entity":"\#(shape.entity)","predicate":\#(predicate),"#
        + #""arguments":\#(shape.arguments)}"#
      do {
        #expect(try store.ids(request) == [], "\(name): \(shape.predicate)")
      } catch let error as StoreError {
        Issue.record("\(name): \(shape.predicate): \(error.message)")
      }
    }
  }

  // Evidence: P-052n
  @Test func `what is refused is named in an error`() throws {
    let store = try TestStore(PredicateCorpusModels.feeds)
    for shape in PredicateCorpus.refusedFeeds {
      let predicate = JSONValue.string(shape.predicate).text
      let request =
        #"{"entity":"\#(shape.entity)","predicate":\#(predicate),"#
        + #""arguments":\#(shape.arguments)}"#
      let error = #expect(throws: StoreError.self) { try store.ids(request) }
      #expect(
        error?.code == .predicateInvalid || error?.code == .unknownProperty,
        "\(shape.predicate): \(error?.message ?? "")"
      )
    }
  }

  @Test func `there are at least 300 different ones`() {
    let all = Self.corpora.flatMap { $0.2.map(\.predicate) }
    #expect(Set(all).count >= 300)
  }
}
