import CordialProtocol
import JSON

/// The protocol's document as `cordial protocol` prints it.
enum ProtocolDocument {
  static var text: String { OpenRPC.document.prettyText }
}
