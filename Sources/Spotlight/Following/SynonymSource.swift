import CordialValues
import Glibc
import ObjectModel
import SQLite
import Synchronization

/// The present synonyms: those of the model, and those of the file `synonyms.txt` beside the index.
package final class SynonymSource: Sendable {
  /// What the file system knows of the file.
  private enum Version: Equatable {
    /// Nobody has asked yet.
    case unknown
    case missing
    /// A folder, a device or a pipe.
    case other
    case file(inode: UInt64, size: Int, seconds: Int, nanoseconds: Int)

    init(_ path: String) {
      var facts = stat()
      guard unsafe stat(path, &facts) == 0 else {
        self = .missing
        return
      }
      guard facts.st_mode & S_IFMT == S_IFREG else {
        self = .other
        return
      }
      self = .file(
        inode: UInt64(facts.st_ino),
        size: Int(facts.st_size),
        seconds: facts.st_mtim.tv_sec,
        nanoseconds: facts.st_mtim.tv_nsec
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
    /// The version of the file that was read.
    var version = Version.unknown
    var status: FileStatus?
    var synonyms = Synonyms()
    var digest = ""
  }

  private let path: String
  /// The lists of the model, each with the columns in which they are found; nil for all.
  private let lists: [(list: SynonymList, columns: [String]?)]
  private let now: @Sendable () -> Int64
  private let state = Mutex(State())

  /// Creates a source without reading the file.
  ///
  /// - Parameters:
  ///   - model: The store's model.
  ///   - columns: The columns of the index.
  ///   - folder: The folder of the file.
  ///   - now: Returns the time, in milliseconds since 1970.
  init(
    _ model: Model,
    columns: [String],
    in folder: String,
    now: @escaping @Sendable () -> Int64
  ) {
    path = folder + "/synonyms.txt"
    self.now = now
    // Entities inherit the settings of their parent, whose lists count once.
    var lists: [(list: SynonymList, columns: [String]?)] = []
    for spotlight in model.entities.compactMap(\.spotlight) {
      for list in spotlight.synonyms {
        let fields = Set(list.fields ?? spotlight.fields).sorted()
        let element = (list, fields == columns ? nil : fields)
        if lists.count > Self.comparedMax || !lists.contains(where: { $0 == element }) {
          lists.append(element)
        }
      }
    }
    self.lists = lists
  }

  /// The count of lists up to which equal ones are found.
  private static let comparedMax = 1000

  /// The present synonyms, with a text that is equal for equal synonyms, empty for none.
  ///
  /// The first call and a call after a change of the file read the file.
  var present: (synonyms: Synonyms, digest: String) { read { ($0.synonyms, $0.digest) } }

  /// The digest of the present synonyms; nil if no search has needed them.
  package var loadedDigest: String? {
    state.withLock { $0.version == .unknown } ? nil : present.digest
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
    var found: [SynonymList] = []
    var status = FileStatus(read: now())
    do throws(SynonymFile.Fault) {
      if version == .other { throw SynonymFile.Fault(message: "It is not a file") }
      if version != .missing { found = try SynonymFile.lists(try contents()) }
    } catch {
      status.problem = error.message
    }
    status.lists = found.count
    var synonyms = Synonyms()
    for (list, columns) in lists { synonyms.add(list, columns: columns) }
    for list in found { synonyms.add(list, columns: nil) }
    state.version = version
    state.status = version == .missing ? nil : status
    state.synonyms = synonyms
    let texts = lists.map { "\($0.list) \($0.columns ?? [])" } + found.map { "\($0)" }
    state.digest =
      texts.isEmpty ? "" : ContentDigest(texts.joined(separator: "\n").utf8).hexadecimal
  }

  private func contents() throws(SynonymFile.Fault) -> [UInt8] {
    // A file that a device or a pipe has replaced meanwhile must not block.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw SynonymFile.Fault(message: "The file cannot be opened") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SynonymFile.Fault(message: "The file cannot be read") }
      guard count > 0 else { return bytes }
      bytes += buffer.prefix(count)
      guard bytes.count <= SynonymFile.bytesMax else {
        throw SynonymFile.Fault(message: "The file has more than \(SynonymFile.bytesMax) bytes")
      }
    }
  }
}

/// The synonyms that a search has used.
package struct UsedSynonyms: Sendable, Equatable {
  /// A text that is equal for equal synonyms; empty for a search without synonyms.
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
