// risks causing data races
import Cordial
import CordialValues

@MainActor func edit(_ client: Client) async throws {
  let context = Context(client)
  Task.detached { context.rollback() }
  context.rollback()
}
