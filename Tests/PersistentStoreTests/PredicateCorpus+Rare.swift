/// Predicates that few applications write.
extension PredicateCorpus {
  /// Key paths in several arguments, and values of members.
  ///
  /// Their entities are of the messenger and of the notebook.
  static let rareChat = shapes(
    #"""
    Conversation | SUBQUERY(%K, $x, $x.%K == %@).@count > 0 | ["members", "handle", "ada"]
    Conversation | ANY %K.%K IN %@ | ["members", "handle", ["ada", "bob"]]
    Message | %K.%K == %@ | ["conversation", "title", "Team"]
    """#
  )

  /// What Core Data or Foundation accepts and Cordial refuses with an error.
  static let refusedFeeds = shapes(
    #"""
    Article | FUNCTION(title, 'length') > 0
    Article | title MATCHES summary
    """#
  )
}
