import Foundation
import FoundationXML

/// An element of a small XML file with its attributes, children and text.
final class XMLElement {
  let name: String
  private let attributes: [String: String]
  fileprivate(set) var children: [XMLElement] = []
  fileprivate(set) var text = ""

  fileprivate init(name: String, attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  /// Returns the value of an attribute.
  subscript(attribute: String) -> String? { attributes[attribute] }

  var attributeNames: [String] { attributes.keys.sorted() }

  /// Returns the children with that name.
  func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

  /// Parses the content of an XML file.
  ///
  /// - Parameters:
  ///   - data: The content.
  ///   - path: The path of the file, for the error message.
  /// - Returns: The root element.
  /// - Throws: `XcodeModel.Failure`.
  static func parse(_ data: Data, _ path: String) throws(XcodeModel.Failure) -> XMLElement {
    let builder = XMLTreeBuilder()
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    parser.delegate = builder
    guard parser.parse(), parser.parserError == nil, let root = builder.root, builder.isWhole else {
      throw XcodeModel.Failure(message: "\(path) is not valid XML at line \(parser.lineNumber)")
    }
    return root
  }
}

/// A parser delegate that builds the tree of elements.
private final class XMLTreeBuilder: NSObject, XMLParserDelegate {
  /// The maximum nesting depth of elements.
  private static let depthMax = 64

  var root: XMLElement?
  private var open: [XMLElement] = []
  /// Whether every element that was opened is closed.
  var isWhole: Bool { open.isEmpty }

  func parser(
    _ parser: XMLParser,
    didStartElement elementName: String,
    namespaceURI: String?,
    qualifiedName qName: String?,
    attributes attributeDict: [String: String]
  ) {
    let element = XMLElement(name: elementName, attributes: attributeDict)
    guard open.count < Self.depthMax else { return parser.abortParsing() }
    open.last?.children.append(element)
    if root == nil { root = element }
    open.append(element)
  }

  func parser(
    _ parser: XMLParser,
    didEndElement elementName: String,
    namespaceURI: String?,
    qualifiedName qName: String?
  ) {
    open.removeLast()
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    open.last?.text += string
  }
}
