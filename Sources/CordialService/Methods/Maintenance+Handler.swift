import CordialProtocol
import CordialValues
import JSON
import PersistentStore

extension Service {
  func backup(_ call: BackupCall, _ request: Request) {
    let path = call.path
    store.backup(to: path) { outcome in
      self.answer(
        request,
        outcome.map { copy in
          [
            "path": .string(path), "token": .string(copy.token.description),
            "bytes": .integer(Int64(copy.bytes)),
          ]
        }
      )
    }
  }

  func verify(_ request: Request) {
    read(request) { snapshot, writer in
      var verification = StoreVerification(snapshot)
      writer.value(try verification.run())
    }
  }

  func compact(_ request: Request) {
    store.compact(source: request.session) { outcome in
      self.answer(
        request,
        outcome.map { ["before": .integer(Int64($0.before)), "after": .integer(Int64($0.after))] }
      )
    }
  }
}
