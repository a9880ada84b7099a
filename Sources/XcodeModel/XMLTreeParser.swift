import CExpat

/// Builds the tree of elements of an XML file with Expat.
///
/// Expat reads only the bytes that it receives: no other file, and nothing from a network.
///
/// The parser refuses a file with declarations, because a short file can declare entities or
/// default attribute values that expand to a text of any length. The parser also refuses a
/// reference to an entity that another file declares.
@safe final class XMLTreeParser {
  /// The maximum nesting depth of elements.
  private static let depthMax = 64

  private let parser: XML_Parser
  private var root: XMLElement?
  private var open: [XMLElement] = []
  /// Whether the file names the document type of property lists.
  private var hasListType = false
  /// The reason why the parser refuses a file of well-formed XML.
  private var refusal: String?

  private init?() {
    guard let parser = unsafe XML_ParserCreate(nil) else { return nil }
    unsafe self.parser = unsafe parser
    unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    unsafe XML_SetElementHandler(
      parser,
      { context, name, attributes in unsafe XMLTreeParser.of(context)?.start(name, attributes) },
      { context, _ in unsafe XMLTreeParser.of(context)?.open.removeLast() }
    )
    unsafe XML_SetCharacterDataHandler(parser) { context, start, count in
      let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(count))
      unsafe XMLTreeParser.of(context)?.open.last?.append(String(decoding: bytes, as: UTF8.self))
    }
    unsafe XML_SetStartDoctypeDeclHandler(parser) { context, root, system, _, hasDeclarations in
      guard let parser = unsafe XMLTreeParser.of(context) else { return }
      // Xcode's property lists name their document type by an address; no other file may do so.
      parser.hasListType = unsafe root.map { unsafe String(cString: $0) } == "plist"
      if hasDeclarations != 0 || (unsafe system != nil && !parser.hasListType) {
        parser.refuse("declares a document type")
      }
    }
    unsafe XML_SetSkippedEntityHandler(parser) { context, name, _ in
      let name = unsafe name.map { unsafe String(cString: $0) } ?? ""
      unsafe XMLTreeParser.of(context)?.refuse("has the unknown entity &\(name);")
    }
  }

  deinit { unsafe XML_ParserFree(parser) }

  /// Parses the content of an XML file.
  ///
  /// - Parameters:
  ///   - content: The bytes, in UTF-8, UTF-16, ISO-8859-1 or US-ASCII.
  ///   - path: The path of the file, for the error message.
  /// - Returns: The root element.
  /// - Throws: `XcodeModel.Failure`.
  static func parse(_ content: [UInt8], _ path: String) throws(XcodeModel.Failure) -> XMLElement {
    guard let parser = XMLTreeParser() else {
      throw XcodeModel.Failure(message: "\(path) cannot be read: there is no memory")
    }
    return try parser.parse(content, path)
  }

  private func parse(_ content: [UInt8], _ path: String) throws(XcodeModel.Failure) -> XMLElement {
    guard content.count <= XcodeModel.bytesMax else {
      throw XcodeModel.Failure(message: "\(path) has more than \(XcodeModel.bytesMax) bytes")
    }
    let status = unsafe content.withUnsafeBytes { bytes in
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      return unsafe XML_Parse(parser, start, Int32(bytes.count), 1)
    }
    let line = unsafe XML_GetCurrentLineNumber(parser)
    if let refusal {
      throw XcodeModel.Failure(message: "\(path) \(refusal) at line \(line)")
    }
    guard status == XML_STATUS_OK, let root else {
      let reason = unsafe String(cString: XML_ErrorString(XML_GetErrorCode(parser)))
      throw XcodeModel.Failure(message: "\(path) is not valid XML at line \(line): \(reason)")
    }
    return root
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> XMLTreeParser? {
    unsafe context.map { unsafe Unmanaged<XMLTreeParser>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Adds an element.
  ///
  /// `attributes` contains each name before its value, and a null pointer at the end.
  private func start(
    _ name: UnsafePointer<XML_Char>?,
    _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?
  ) {
    guard let name = unsafe name, var next = unsafe attributes else { return }
    guard open.count < Self.depthMax else {
      return refuse("nests elements deeper than \(Self.depthMax)")
    }
    var values: [String: String] = [:]
    while let name = unsafe next[0], let value = unsafe next[1] {
      unsafe values[String(cString: name)] = unsafe String(cString: value)
      unsafe next += 2
    }
    let element = XMLElement(name: unsafe String(cString: name), attributes: values)
    // With a document type, Expat silently drops unknown entities in attribute values. Only
    // property lists may have a document type, because no attribute of a property list is read.
    if hasListType, root == nil, element.name != "plist" { refuse("is no property list") }
    open.last?.append(element)
    if root == nil { root = element }
    open.append(element)
  }

  private func refuse(_ refusal: String) {
    if self.refusal == nil { self.refusal = refusal }
    unsafe XML_StopParser(parser, XML_Bool(XML_FALSE))
  }
}
