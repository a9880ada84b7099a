import Foundation
import TestSeeds
import TestStores

/// A copy of the folder of a closed host, whose files a test damages before it opens another host.
struct DamagedFiles {
  let folder: TestFolder

  /// Copies the store and the index of a closed host.
  init(copyOf other: TestFolder) throws {
    let folder = try TestFolder()
    self.folder = folder
    let (from, to) = (other.path + "/store", folder.path + "/store")
    try FileManager.default.createDirectory(atPath: to, withIntermediateDirectories: false)
    for name in try FileManager.default.contentsOfDirectory(atPath: from)
    where !name.hasSuffix("-shm") && !name.hasSuffix("-lease") {
      try FileManager.default.copyItem(atPath: "\(from)/\(name)", toPath: "\(to)/\(name)")
    }
  }

  /// Returns the path of a file of the store's folder.
  func path(_ name: String) -> String { "\(folder.path)/store/\(name)" }

  /// The configuration of a host that opens the files.
  var options: ServiceHost.Options {
    var options = ServiceHost.Options()
    options.folder = folder
    return options
  }

  /// Runs SQL on a file, as a program that knows nothing of Cordial.
  func execute(_ sql: String, in name: String) throws {
    try ForeignConnection(path(name)).execute(sql)
  }

  /// Returns the rows of a query, each as a text; nil where the file cannot be read.
  func rows(_ sql: String, in name: String) -> [String]? {
    do {
      return try ForeignConnection(path(name)).rows(sql).map { row in
        row.map { value in
          if case .text(let text) = value { "\"\(text)\"" } else { value.description }
        }.joined(separator: "|")
      }
    } catch {
      return nil
    }
  }

  /// Moves the content of a file's write-ahead log into the file.
  func intoOneFile(_ name: String) throws {
    try execute("PRAGMA wal_checkpoint(TRUNCATE)", in: name)
    for suffix in ["-wal", "-shm"]
    where FileManager.default.fileExists(atPath: path(name + suffix)) {
      try FileManager.default.removeItem(atPath: path(name + suffix))
    }
  }

  /// Changes some bytes of a file, most often of one page; sometimes the file becomes shorter.
  func changeBytes(of name: String, _ random: inout SplitMix64) throws {
    let file = URL(fileURLWithPath: path(name))
    var bytes = try Data(contentsOf: file)
    guard !bytes.isEmpty else { return }
    let page = 4096 * random.below((bytes.count + 4095) / 4096)
    let isNear = !random.oneIn(3)
    for _ in 0..<random.pick([1, 1, 2, 5, 30]) {
      let offset =
        isNear
        ? min(page + random.below(4096), bytes.count - 1) : random.below(bytes.count)
      switch random.below(4) {
      case 0: bytes[offset] = UInt8(truncatingIfNeeded: random.next())
      case 1: bytes[offset] ^= 1 << UInt8(random.below(8))
      case 2: bytes[offset] = 0xFF
      default: bytes[offset] = 0
      }
    }
    if random.oneIn(20) { bytes = Data(bytes.prefix(random.below(bytes.count))) }
    try bytes.write(to: file)
  }
}
