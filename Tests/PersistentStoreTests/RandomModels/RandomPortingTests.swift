import JSON
import Porting
import TestSeeds
import TestStores
import Testing

/// Random models with random objects, exported and imported.
@Suite struct `Random models are exported and imported` {
  // Evidence: P-135b, P-135d
  @Test func `an import of random objects`() async throws {
    try await WideSeeds.each(50) { seed in
      let filled = try await WideFilledStore(seed, changes: 4, isMarked: true)
      let first = filled.folder.path
      let wanted = try filled.close()
      let lines = try await withWideEngine(first, nil) { client in
        var lines: [String] = []
        try await Exporter.run([], from: client) { lines.append($0.text) }
        return lines
      }
      let archive = try await withWideEngine(first, nil) { client in
        var lines: [String] = []
        try await Archive.run(from: client) { lines.append($0) }
        return lines.joined(separator: "\n") + "\n"
      }
      let contents = try Archive.read(Array(archive.utf8))
      let model = filled.model
      for (name, input, text) in [
        ("export", Array(lines.joined(separator: "\n").utf8) as any InputFile, model.text),
        ("archive", contents.lines, contents.model.text),
      ] {
        let folder = try TestFolder()
        var random = SplitMix64(seed: seed)
        let batch = 1 + random.below(2 * lines.count + 1)
        try await withWideEngine(folder.path, text) { client in
          let summary = try await Importer.run(input, into: client, batch: batch)
          #expect(
            summary.unknown.isEmpty,
            "\(Seeds.repeating(seed, "an import of random objects"))"
          )
        }
        let store = try TestStore(nil, in: folder)
        let found = try WideState(store, model).digest(model)
        if found != wanted {
          let differences = Set(found).symmetricDifference(wanted).sorted()
          Issue.record(
            """
            \(name): \(differences.joined(separator: "\n"))
            \(model.text)
            \(Seeds.repeating(seed, "an import of random objects"))
            """
          )
        }
      }
    }
  }
}
