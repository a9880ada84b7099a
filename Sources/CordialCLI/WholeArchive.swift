import Cordial
import CordialProtocol
import Engine
import PersistentStore
import Porting

/// Archives of a whole store, which are written from a backup and restored into a new store.
enum WholeArchive {
  /// Prints the archive of a service's store.
  ///
  /// - Parameters:
  ///   - client: A client of the service, which runs on this machine.
  ///   - write: Called with each line, without its line end.
  /// - Throws: `ClientError`; `StoreError`; `InputError` without a temporary folder.
  static func export(_ client: ClientConnection, _ write: (String) -> Void) async throws {
    let model = try await client.call(ModelCall()).json
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let copy = StoreContainer(path: folder.path("copy"))
    defer { copy.remove() }
    // The archive is printed from a backup, so that clients can continue to write.
    _ = try await client.call(BackupCall(path: copy.path))
    try Archive.run(model, { add in try StoreDump.write(copy, add) }, write)
  }

  /// Creates a store from the content of an archive.
  ///
  /// - Parameters:
  ///   - contents: The archive.
  ///   - path: The folder to create.
  /// - Throws: `StoreError`; the errors of the file. After an error, the folder does not exist.
  static func restore(_ contents: Archive.Contents, as path: String) throws {
    let target = StoreContainer(path: Paths.absolute(path))
    var lines = contents.content
    try StoreDump.read({ try lines.next()?.bytes }, to: target, environment: .system)
  }
}
