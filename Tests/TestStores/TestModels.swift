/// The texts of model files that several suites use.
package enum TestModels {
  /// Tasks in groups, with memos, labels, and the tasks that they block.
  package static let todo = """
    {"name": "Todo", "version": "1", "entities": [
      {"name": "Group",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "rank", "type": "int16", "optional": true}],
       "relationships": [
         {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "group"}]},
      {"name": "Task",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "priority", "type": "int64", "optional": true},
                      {"name": "done", "type": "boolean", "default": false},
                      {"name": "due", "type": "date", "optional": true}],
       "relationships": [
         {"name": "group", "destination": "Group", "inverse": "tasks", "optional": true},
         {"name": "memo", "destination": "Memo", "inverse": "task", "optional": true,
          "deleteRule": "cascade"},
         {"name": "labels", "destination": "Label", "toMany": true, "inverse": "tasks"},
         {"name": "blocks", "destination": "Task", "toMany": true, "inverse": "blockedBy"},
         {"name": "blockedBy", "destination": "Task", "toMany": true, "inverse": "blocks"}]},
      {"name": "Memo",
       "attributes": [{"name": "content", "type": "string", "optional": true}],
       "relationships": [
         {"name": "task", "destination": "Task", "inverse": "memo", "optional": true}]},
      {"name": "Label",
       "attributes": [{"name": "name", "type": "string", "optional": true}],
       "relationships": [
         {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "labels"}]}]}
    """

  /// An attribute of every type, each optional.
  package static let everything = """
    {"name": "Everything", "version": "1", "entities": [
      {"name": "Item", "attributes": [
        {"name": "string", "type": "string", "optional": true},
        {"name": "int16", "type": "int16", "optional": true},
        {"name": "int32", "type": "int32", "optional": true},
        {"name": "int64", "type": "int64", "optional": true},
        {"name": "double", "type": "double", "optional": true},
        {"name": "float", "type": "float", "optional": true},
        {"name": "decimal", "type": "decimal", "optional": true},
        {"name": "boolean", "type": "boolean", "optional": true},
        {"name": "date", "type": "date", "optional": true},
        {"name": "uuid", "type": "uuid", "optional": true},
        {"name": "uri", "type": "uri", "optional": true},
        {"name": "binary", "type": "binary", "optional": true},
        {"name": "json", "type": "json", "optional": true}]}]}
    """

  /// Entities with an identity attribute of each type, some of which reference each other.
  package static let identities = """
    {"name": "Identities", "version": "1", "entities": [
      {"name": "Country", "identity": "code",
       "attributes": [{"name": "code", "type": "string"}, {"name": "name", "type": "string",
                       "optional": true}],
       "relationships": [
         {"name": "cities", "destination": "City", "toMany": true, "inverse": "country"}]},
      {"name": "City", "identity": "number",
       "attributes": [{"name": "number", "type": "int64"}],
       "relationships": [
         {"name": "country", "destination": "Country", "inverse": "cities", "optional": true}]},
      {"name": "Device", "identity": "key", "attributes": [{"name": "key", "type": "uuid"}]}]}
    """
}
