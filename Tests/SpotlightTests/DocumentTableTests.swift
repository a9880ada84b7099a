import CSpotlight
import CordialValues
import Spotlight
import TestSeeds
import Testing

@Suite struct DocumentTableTests {
  private typealias Added = DocumentTable.AddedDocument

  /// The documents of a view, read as ranking reads them.
  private struct Contents: Equatable {
    var keys: [Int64: ObjectKey] = [:]
    var lengths: [Int64: Int64] = [:]
    var boosts: [Int64: Double?] = [:]

    var tokens: Int64 { lengths.values.reduce(0, +) }
  }

  private func contents(_ view: DocumentTable.View) -> Contents {
    unsafe view.withSearch { search in
      var contents = Contents()
      for number in unsafe 0..<search.documentCount {
        guard unsafe search.alive[Int(number / 64)] >> UInt64(number % 64) & 1 == 1 else {
          continue
        }
        let (chunk, place) = (Int(number) / DocumentChunk.size, Int(number) % DocumentChunk.size)
        guard let documents = unsafe search.documents[chunk] else { continue }
        let document = unsafe documents[place]
        contents.keys[number] = ObjectKey(entity: Int(document.entity), object: document.object)
        contents.lengths[number] = Int64(document.length)
        let value = unsafe search.boostValues[chunk]?[place] ?? .nan
        contents.boosts[number] = .some(value.isNaN ? nil : value)
      }
      return contents
    }
  }

  @Test(arguments: Seeds.first(3))
  func `A search keeps its documents while the table changes`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let table = DocumentTable(boostCount: 1)
    var model = Contents()
    var next: Int64 = 1
    var held: [(view: DocumentTable.View, contents: Contents)] = []
    for step in 0..<60 {
      var added: [Added] = []
      for _ in 0..<Int.random(in: 0...600, using: &random) {
        let key = ObjectKey(entity: Int.random(in: 1...3, using: &random), object: next)
        let length = Int64.random(in: 0...90, using: &random)
        let boost = Bool.random(using: &random) ? Double(next) : nil
        added.append(Added(number: next, key: key, length: length, titleLength: 0, boosts: [boost]))
        next += 1
      }
      let count = min(model.keys.count, Int.random(in: 0...200, using: &random))
      let removed = Array(model.keys.keys.sorted().shuffled(using: &random).prefix(count))
      for document in added {
        model.keys[document.number] = document.key
        model.lengths[document.number] = document.length
        model.boosts[document.number] = .some(document.boosts[0])
      }
      for number in removed {
        model.keys[number] = nil
        model.lengths[number] = nil
        model.boosts.removeValue(forKey: number)
      }
      let position = IndexPosition(
        token: StoreToken(generation: 1, number: Int64(step), mark: 0),
        build: 1,
        next: next
      )
      table.apply(position, added: added, removed: removed)
      let view = table.view
      #expect(view.aliveCount == Int64(model.keys.count))
      #expect(view.aliveTokens == model.tokens)
      if step % 7 == 0 { held.append((view, model)) }
    }
    #expect(contents(table.view) == model)
    for (view, contents) in held { #expect(self.contents(view) == contents) }
  }

  @Test func `A batch during a search copies the chunk of its new documents at most`() {
    let size = Int64(DocumentChunk.size)
    let added = (1..<3 * size - 10).map { number in
      Added(
        number: number,
        key: ObjectKey(entity: 1, object: number),
        length: 1,
        titleLength: 0,
        boosts: []
      )
    }
    let position = IndexPosition(
      token: StoreToken(generation: 1, number: 1, mark: 0),
      build: 1,
      next: 1
    )
    let table = DocumentTable(boostCount: 0)
    table.apply(position, added: added, removed: [])

    let during = table.view
    let last = Added(
      number: 3 * size - 10,
      key: ObjectKey(entity: 1, object: 0),
      length: 1,
      titleLength: 0,
      boosts: []
    )
    table.apply(position, added: [last], removed: [1, size, 2 * size])

    let (before, after) = (addresses(during), addresses(table.view))
    #expect(before.count == 3 && after.count == 3)
    #expect(before[0] == after[0] && before[1] == after[1])
    #expect(before[2] != after[2])
    #expect(during.key(1) != nil && table.view.key(1) == nil)
  }

  /// The addresses of the chunks of a view.
  private func addresses(_ view: DocumentTable.View) -> [UInt] {
    unsafe view.withSearch { search in
      unsafe (0..<(Int(search.documentCount) + DocumentChunk.size - 1) / DocumentChunk.size).map {
        unsafe UInt(bitPattern: search.documents[$0])
      }
    }
  }
}
