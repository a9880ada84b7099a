import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import PersistentStore

extension Service {
  func backup(_ call: BackupCall, _ request: Request) throws {
    let path = call.path
    let progress = try beginProgress(of: request, "Copying the store")
    store.backup(to: path, work: work(of: request, progress)) { outcome in
      progress?.end()
      self.answer(
        request,
        outcome.map { copy in
          BackupCall.Result(
            path: path,
            token: copy.token.description,
            bytes: Int64(copy.bytes)
          )
        }
      )
    }
  }

  func verify(_ request: Request) throws {
    let progress = try beginProgress(of: request, "Checking the store")
    let work = work(of: request, progress)
    read(request, progress) { snapshot, writer in
      var verification = StoreVerification(snapshot, work)
      writer.value(try verification.run())
    }
  }

  func compact(_ request: Request) throws {
    let progress = try beginProgress(of: request, "Compacting the store")
    store.compact(source: request.session, work: work(of: request, progress)) { outcome in
      progress?.end()
      self.answer(
        request,
        outcome.map {
          CompactCall.Result(before: Int64($0.before), after: Int64($0.after))
        }
      )
    }
  }
}
