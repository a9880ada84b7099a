package import JSON
package import JSONRPC

/// The params of `suggest`: proposes queries for the text that a person types.
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
    /// The suggestions: a correction, then words, then queries.
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

  /// A query that a person may be typing.
  package struct Suggestion: WireObject {
    /// The query.
    package let text: String
    /// `word`, `query` or `correction`; nil if a mock's script omits the kind.
    package let kind: String?
    /// The number of objects that this query finds; nil if a mock's script omits the number.
    package let documents: Int64?

    /// Creates a suggestion.
    package init(text: String, kind: String, documents: Int64) {
      self.text = text
      self.kind = kind
      self.documents = documents
    }

    package init(_ json: JSONValue) throws(RPCError) {
      text = try json.text(.text)
      kind = json.string(.kind)
      documents = json.integer(.documents)
    }

    package var json: JSONValue { .present([.text: text, .kind: kind, .documents: documents]) }
  }
}
