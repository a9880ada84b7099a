// type 'Context' does not conform to the 'Sendable' protocol
import Cordial

func edit(_ background: BackgroundContext) async throws {
  let context = await background.perform { _, context in context }
  context.rollback()
}
