import ObjectModel
import PersistentStore

/// A model with a relationship of each kind, for the stages of a save.
enum StagesModel {
  private static let text = """
    {"name": "Board", "entities": [
      {"name": "Group",
       "attributes": [{"name": "title", "type": "string", "optional": true}],
       "relationships": [
         {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "group",
          "deleteRule": "cascade"},
         {"name": "queue", "destination": "Task", "toMany": true, "ordered": true,
          "inverse": "line"},
         {"name": "reports", "destination": "Report", "toMany": true, "inverse": "group",
          "deleteRule": "deny"},
         {"name": "colors", "destination": "Tag", "toMany": true, "ordered": true}]},
      {"name": "Task",
       "attributes": [{"name": "title", "type": "string", "optional": true},
                      {"name": "code", "type": "string", "optional": true},
                      {"name": "rank", "type": "int16", "default": 0, "minimum": 0},
                      {"name": "due", "type": "date", "optional": true},
                      {"name": "price", "type": "decimal", "optional": true}],
       "unique": [["code"], ["group", "title"]],
       "relationships": [
         {"name": "group", "destination": "Group", "inverse": "tasks", "optional": true},
         {"name": "line", "destination": "Group", "inverse": "queue", "optional": true},
         {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "tasks"},
         {"name": "friends", "destination": "Task", "toMany": true, "inverse": "friends"},
         {"name": "memo", "destination": "Memo", "inverse": "task", "optional": true,
          "deleteRule": "cascade"}]},
      {"name": "Memo",
       "attributes": [{"name": "text", "type": "string", "optional": true}],
       "relationships": [
         {"name": "task", "destination": "Task", "inverse": "memo", "optional": true},
         {"name": "writer", "destination": "Person", "optional": true}]},
      {"name": "Report",
       "relationships": [{"name": "group", "destination": "Group", "inverse": "reports"}]},
      {"name": "Team",
       "relationships": [
         {"name": "players", "destination": "Player", "toMany": true, "inverse": "team",
          "minimumCount": 1, "maximumCount": 3}]},
      {"name": "Player",
       "relationships": [
         {"name": "team", "destination": "Team", "inverse": "players", "optional": true}]},
      {"name": "Tag", "identity": "name",
       "attributes": [{"name": "name", "type": "string"},
                      {"name": "shade", "type": "string", "optional": true}],
       "relationships": [
         {"name": "tasks", "destination": "Task", "toMany": true, "inverse": "tags"}]},
      {"name": "Person",
       "attributes": [{"name": "name", "type": "string", "optional": true},
                      {"name": "email", "type": "string", "optional": true}],
       "unique": [["email"]]},
      {"name": "Employee", "parent": "Person",
       "attributes": [{"name": "desk", "type": "int32", "optional": true}]}]}
    """

  /// A layout of its own for each test: its classes are not sendable.
  static func layout() throws -> SaveLayout {
    SaveLayout(try ModelDocument.parse(Array(text.utf8).span))
  }

  /// The ID of an employee, whose number is in the range of the entity's slot.
  static func employee(_ number: Int64) -> String { "Employee/p\((1 << 45) + number)" }
}
