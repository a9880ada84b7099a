import CordialProtocol
import JSON
import ProtocolSchemas

/// The OpenRPC document that `cordial protocol` prints.
enum ProtocolDocument {
  static var text: String { OpenRPC.document.prettyText }
}
