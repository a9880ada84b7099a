import JSON
import ModelTools
import ObjectModel
import Testing

@Suite struct `Swift code for a model` {
  private func source(
    _ entities: String,
    _ more: String = "",
    prefix: String = ""
  ) throws
    -> SwiftSource
  {
    let text = #"{"name":"Shop","entities":[\#(entities)]\#(more)}"#
    return SwiftSource(try ModelDocument.model(from: try JSONParser.parse(text)), prefix: prefix)
  }

  @Test func `is what a person would write`() throws {
    let source = try source(
      """
      {"name": "Item",
       "attributes": [
         {"name": "title", "type": "string"},
         {"name": "state", "type": "string", "enum": ["open", "in stock", "case"], "default": "open"},
         {"name": "count", "type": "int16", "minimum": 0, "default": 1},
         {"name": "default", "type": "double", "optional": true}],
       "relationships": [
         {"name": "shelf", "destination": "Shelf", "inverse": "items", "optional": true}]},
      {"name": "Shelf", "relationships": [
         {"name": "items", "destination": "Item", "toMany": true, "inverse": "shelf"}]}
      """,
      #","values":[{"name":"Row","entity":"Item","select":{"t":"title","shelf":"shelf.items.@count"}}]"#
    )
    #expect(source.notes == [])
    #expect(
      source.text == #"""
        // The values of the model Shop, version 1.
        //
        // Written by `cordial model generate --swift`, which writes the same text again for the same
        // model.

        public import Cordial
        public import CordialValues

        /// An object of the entity Item.
        public struct Item: ObjectValue {
          /// The name of the entity in the model.
          public static let entity = "Item"

          /// The identity of the object.
          public var id: WrappedID
          /// The attribute `title`.
          public var title: String
          /// The attribute `state`.
          public var state: State
          /// The attribute `count`: an integer from -32768 to 32767, at least 0.
          public var count: Int
          /// The attribute `default`.
          public var `default`: Double?
          /// The ID of the Shelf of `shelf`.
          public var shelf: WrappedID?

          /// Creates a value.
          public init(
            id: WrappedID,
            title: String,
            state: State = .open,
            count: Int = 1,
            `default`: Double? = nil,
            shelf: WrappedID? = nil
          ) {
            self.id = id
            self.title = title
            self.state = state
            self.count = count
            self.`default` = `default`
            self.shelf = shelf
          }

          /// The values of `state`.
          public enum State: String, Codable, CaseIterable, Sendable {
            /// The value `open`.
            case open
            /// The value `in stock`.
            case inStock = "in stock"
            /// The value `case`.
            case `case`
          }

          /// The properties and key paths, for orders and conditions in text.
          public enum Path {
            /// The path of `title`.
            public static let title = "title"
            /// The path of `state`.
            public static let state = "state"
            /// The path of `count`.
            public static let count = "count"
            /// The path of `default`.
            public static let `default` = "default"
            /// The path of `shelf`.
            public static let shelf = "shelf"
          }
        }

        /// An object of the entity Shelf.
        ///
        /// Its to-manys are fetched by requests of their own: `items`.
        public struct Shelf: ObjectValue {
          /// The name of the entity in the model.
          public static let entity = "Shelf"

          /// The identity of the object.
          public var id: WrappedID

          /// Creates a value.
          public init(id: WrappedID) {
            self.id = id
          }

          /// The properties and key paths, for orders and conditions in text.
          public enum Path {
            /// The path of `items`.
            public static let items = "items"
            /// The path of `items.@count`.
            public static let itemsCount = "items.@count"
          }
        }

        /// The values `Row` of an object of the entity Item.
        public struct Row: ObjectValue {
          /// The name of the entity in the model.
          public static let entity = "Item"
          /// The name of the model's values that a fetch selects.
          public static let projection: String? = "Row"

          /// The identity of the object.
          public var id: WrappedID
          /// The value of `title`.
          public var t: String
          /// The value of `shelf.items.@count`.
          public var shelf: Int

          /// Creates a value.
          public init(
            id: WrappedID,
            t: String,
            shelf: Int
          ) {
            self.id = id
            self.t = t
            self.shelf = shelf
          }
        }

        """#
    )
  }

  @Test func `names what it cannot express, and no type of the library`() throws {
    let source = try source(
      """
      {"name": "Task", "attributes": [{"name": "data", "type": "json", "optional": true},
        {"name": "cached", "type": "string", "transient": true, "optional": true},
        {"name": "place", "type": "composite", "members": [
           {"name": "city", "type": "string"}, {"name": "since", "type": "date", "optional": true}]}]}
      """
    )
    #expect(
      source.notes == [
        "Task.data is of type json; add a property of a Codable type for it",
        "Task.cached is transient, so that no service has its values",
      ]
    )
    #expect(source.text.contains("public struct ShopTask: ObjectValue {"))
    #expect(source.text.contains("public var place: Place\n"))
    #expect(source.text.contains("    public var since: Date?\n"))
    #expect(source.text.contains("import Foundation"))
    let prefixed = try self.source(#"{"name":"Task","attributes":[]}"#, prefix: "My")
    #expect(prefixed.text.contains("public struct MyTask: ObjectValue {"))
  }

  @Test func `renames what cannot be a name in Swift`() throws {
    let source = try source(
      """
      {"name": "class", "attributes": [
         {"name": "id", "type": "string", "optional": true},
         {"name": "idProperty", "type": "string", "optional": true},
         {"name": "type", "type": "string", "enum": ["self"], "default": "self"}]},
      {"name": "String", "attributes": [{"name": "Date", "type": "date", "optional": true}]},
      {"name": "ShopString", "attributes": [{"name": "x", "type": "string", "optional": true}]}
      """,
      #","values":[{"name":"Row","entity":"class","select":{"id":"type"}}]"#
    )
    #expect(source.notes == ["Row.id has a name that no property of Swift can have"])
    for line in [
      "public struct ShopClass: ObjectValue {", "public struct ShopStringObject: ObjectValue {",
      "public struct ShopString: ObjectValue {", "public var idProperty_: String?",
      "public static let properties = [\"idProperty_\": \"id\"]",
      "public enum TypeValue: String, Codable, CaseIterable, Sendable {",
      "case selfCase = \"self\"", "public var DateProperty: Date?",
      "public static let properties = [\"DateProperty\": \"Date\"]",
    ] {
      #expect(source.text.contains("  " + line) || source.text.contains("\n" + line), "\(line)")
    }
  }
}
