package import JSON
package import JSONRPC

/// The params of `suggest`: completes the last word of a query.
package struct SuggestCall: Call {
  package static let name = MethodName.suggest

  package var query: String
  /// The entities whose objects are counted; nil for all entities.
  package var entities: [String]?
  /// The maximum number of suggestions.
  package var limit = 10

  /// Creates a request for the completions of a text.
  package init(query: String) { self.query = query }

  package init(_ json: JSONValue) throws(RPCError) {
    query = try json.text(.query)
    entities = json.strings(.entities)
    limit = json.int(.limit) ?? 10
  }

  package var json: JSONValue { .present([.query: query, .entities: entities, .limit: limit]) }

  /// The completions of a text.
  package struct Result: WireObject {
    /// The history position that the index had reached; nil if a mock's script omits the token.
    package let token: String?
    /// The suggestions, most frequent first, then by text.
    package let suggestions: [Suggestion]

    /// Creates a result.
    package init(token: String, suggestions: [Suggestion]) {
      self.token = token
      self.suggestions = suggestions
    }

    package init(_ json: JSONValue) throws(RPCError) {
      token = json.string(.token)
      suggestions = try json.list(.suggestions)
    }

    package var json: JSONValue { .present([.token: token, .suggestions: suggestions]) }
  }

  /// A completion.
  package struct Suggestion: WireObject {
    /// The query with its last word completed.
    package let text: String
    /// The number of objects that this query finds; nil if a mock's script omits the number.
    package let documents: Int64?

    /// Creates a suggestion.
    package init(text: String, documents: Int64) {
      self.text = text
      self.documents = documents
    }

    package init(_ json: JSONValue) throws(RPCError) {
      text = try json.text(.text)
      documents = json.integer(.documents)
    }

    package var json: JSONValue { .present([.text: text, .documents: documents]) }
  }
}
