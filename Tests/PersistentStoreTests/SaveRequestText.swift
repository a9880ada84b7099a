import JSON
import PersistentStore
import TestStores

/// Requests from the text of their parameters.
enum SaveRequestText {
  static func request(_ text: String) throws -> SaveRequest {
    SaveRequest(try JSONParser.parse(text))
  }
}
