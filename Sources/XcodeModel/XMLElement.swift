/// An element of a small XML file with its attributes, children and text.
final class XMLElement {
  let name: String
  private let attributes: [String: String]
  private(set) var children: [XMLElement] = []
  private(set) var text = ""

  init(name: String, attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  /// Returns the value of an attribute.
  subscript(attribute: String) -> String? { attributes[attribute] }

  var attributeNames: [String] { attributes.keys.sorted() }

  /// Returns the children that have this name.
  func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

  func append(_ child: XMLElement) { children.append(child) }
  func append(_ text: String) { self.text += text }
}
