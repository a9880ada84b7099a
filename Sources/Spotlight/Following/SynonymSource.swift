import CordialValues
import Glibc
import ObjectModel
import SQLite
import Synchronization

/// The present synonyms: those of the model, and those of the file `synonyms.txt` beside the store.
package final class SynonymSource: Sendable {
  /// What the file system knows of the file.
  private enum Version: Equatable {
    case missing
    /// A folder, a device, a pipe, or a path that cannot be read.
    case other
    /// The size in bytes, and the times of the last change of the content and of the entry, in
    /// nanoseconds.
    case file(inode: UInt64, size: Int, modified: Int, changed: Int)

    init(_ path: String) {
      var facts = stat()
      guard unsafe stat(path, &facts) == 0 else {
        self = [ENOENT, ENOTDIR].contains(errno) ? .missing : .other
        return
      }
      guard facts.st_mode & S_IFMT == S_IFREG else {
        self = .other
        return
      }
      func nanoseconds(_ time: timespec) -> Int { time.tv_sec * 1_000_000_000 + time.tv_nsec }
      self = .file(
        inode: UInt64(facts.st_ino),
        size: Int(facts.st_size),
        modified: nanoseconds(facts.st_mtim),
        changed: nanoseconds(facts.st_ctim)
      )
    }
  }

  /// The file as it was read.
  package struct FileStatus: Sendable, Equatable {
    /// The count of lists.
    package var lists = 0
    /// The time of the reading, in milliseconds since 1970.
    package let read: Int64
    /// Why no list of the file is used; nil for a file without faults.
    package var problem: String?
  }

  private struct State {
    /// Whether the file was read.
    var isLoaded = false
    /// The version of the file that was read; nil to read it again.
    var version: Version?
    var status: FileStatus?
    /// The synonyms of the model alone; nil before they are needed.
    var own: Synonyms?
    var synonyms = Synonyms()
    var digest = ""
  }

  private let path: String
  /// The lists of the model, each with the columns in which they are found; nil for all.
  private let lists: [(list: SynonymList, columns: [String]?)]
  /// The lists of the model and the languages of its texts, as a text.
  private let mark: String
  private let now: @Sendable () -> Int64
  private let state = Mutex(State())

  /// Creates a source without reading the file.
  ///
  /// - Parameters:
  ///   - model: The store's model.
  ///   - layout: The columns of the index.
  ///   - folder: The folder of the file.
  ///   - now: Returns the time, in milliseconds since 1970.
  init(
    _ model: Model,
    _ layout: IndexLayout,
    in folder: String,
    now: @escaping @Sendable () -> Int64
  ) {
    path = folder + "/synonyms.txt"
    self.now = now
    var lists: [(list: SynonymList, columns: [String]?)] = []
    // Entities inherit the settings of their parent, whose lists count once.
    var known: Set<String> = []
    for spotlight in model.entities.compactMap(\.spotlight) {
      for list in spotlight.synonyms {
        let fields = Set(list.fields ?? spotlight.fields).sorted()
        guard !fields.isEmpty else { continue }
        let columns = fields == layout.columns ? nil : fields
        if known.insert(Self.text(list, columns)).inserted { lists.append((list, columns)) }
      }
    }
    self.lists = lists
    let languages = layout.languages.sorted { $0.key < $1.key }
      .map { "\($0.key): \($0.value.joined(separator: ", "))" }
    let texts = languages + lists.map { Self.text($0.list, $0.columns) }
    mark = texts.joined(separator: "\n")
  }

  /// Returns a text that differs for lists that differ: the length of each word precedes the word.
  private static func text(_ list: SynonymList, _ columns: [String]?) -> String {
    [list.from, list.to, columns ?? []].map { words in
      "\(words.count) " + words.map { "\($0.utf8.count):\($0)" }.joined()
    }
    .joined()
  }

  /// The present synonyms, with a text that is equal for equal synonyms and languages of texts,
  /// empty for none.
  ///
  /// The first call and a call after a change of the file read the file.
  var present: (synonyms: Synonyms, digest: String) { read { ($0.synonyms, $0.digest) } }

  /// The digest of the present synonyms; nil where neither a search nor the index has needed them.
  package var loadedDigest: String? {
    state.withLock(\.isLoaded) ? present.digest : nil
  }

  /// The status of the file; nil for no file.
  package var status: FileStatus? { read { $0.status } }

  private func read<Value>(_ value: (State) -> Value) -> Value {
    state.withLock { state in
      let version = Version(path)
      if state.version != version { load(&state, version) }
      return value(state)
    }
  }

  private func load(_ state: inout State, _ version: Version) {
    var bytes: [UInt8] = []
    var found: [SynonymList] = []
    var status = FileStatus(read: now())
    (state.isLoaded, state.version) = (true, version)
    do throws(SynonymFile.Fault) {
      if version == .other { throw SynonymFile.Fault(message: "It is not a file, or is hidden") }
      if version != .missing {
        bytes = try contents()
        found = try SynonymFile.lists(bytes)
      }
    } catch {
      status.problem = error.message
      bytes = []
      if error.isPassing { state.version = nil }
    }
    status.lists = found.count
    let own = state.own ?? synonyms(of: lists)
    state.own = own
    var synonyms = own
    for list in found { synonyms.add(list, columns: nil) }
    state.status = version == .missing ? nil : status
    state.synonyms = synonyms
    let isEmpty = mark.isEmpty && found.isEmpty
    state.digest = isEmpty ? "" : ContentDigest(Array(mark.utf8) + [0] + bytes).hexadecimal
  }

  private func synonyms(of lists: [(list: SynonymList, columns: [String]?)]) -> Synonyms {
    var synonyms = Synonyms()
    for (list, columns) in lists { synonyms.add(list, columns: columns) }
    return synonyms
  }

  private func contents() throws(SynonymFile.Fault) -> [UInt8] {
    // A device or a pipe that has replaced the file meanwhile must not block.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw SynonymFile.Fault(message: "The file cannot be opened", isPassing: true)
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw SynonymFile.Fault(message: "The file cannot be read", isPassing: true)
      }
      guard count > 0 else { return bytes }
      bytes += buffer.prefix(count)
      guard bytes.count <= SynonymFile.bytesMax else {
        throw SynonymFile.Fault(message: "The file has more than \(SynonymFile.bytesMax) bytes")
      }
    }
  }
}

/// The synonyms of one snapshot, which are read when its first search needs them.
final class SnapshotSynonyms {
  private let source: SynonymSource
  private lazy var present = source.present

  init(_ source: SynonymSource) { self.source = source }

  var synonyms: Synonyms { present.synonyms }
  var digest: String { present.digest }
}

/// The synonyms that a search has used.
package struct UsedSynonyms: Sendable, Equatable {
  /// A text that is equal for equal synonyms and languages; empty for a search without them.
  package let digest: String
  /// The number of the last commit at which searches may have used others; 0 for none.
  package let after: Int64

  package init(digest: String, after: Int64) {
    (self.digest, self.after) = (digest, after)
  }
}

extension IndexSnapshot {
  /// Returns the synonyms that a search of the snapshot uses.
  package func usedSynonyms(_ request: SearchRequest) throws -> UsedSynonyms {
    guard request.match == .forgiving else { return UsedSynonyms(digest: "", after: 0) }
    let known = try SpotlightError.reading { try IndexFile.synonyms(db) }
    let after = (known?.digest ?? "") == synonyms.digest ? known?.after ?? 0 : token.number
    return UsedSynonyms(digest: synonyms.digest, after: after)
  }
}

extension SearchIndex {
  /// Records the commit up to which searches have used other synonyms, for clients that resume.
  func recordSynonyms(_ follower: inout IndexFollower) throws {
    let digest = synonyms.present.digest
    guard follower.synonyms != digest, let token = follower.token else { return }
    try follower.file.queue.use { db in
      guard try (IndexFile.synonyms(db)?.digest ?? "") != digest else { return }
      try IndexFile.setSynonyms(digest, after: token.number, db)
    }
    follower.synonyms = digest
  }
}
