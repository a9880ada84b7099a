import JSON
import TestSeeds

/// A part of a predicate, whose constants and names may be arguments.
struct GraphPhrase: ExpressibleByStringInterpolation {
  fileprivate enum Piece {
    case text(String)
    /// A path that may be an argument of `%K`.
    case path(String)
    case constant(GraphConstant)
  }

  fileprivate var pieces: [Piece] = []

  init(stringLiteral text: String) { pieces = [.text(text)] }
  init(text: String) { pieces = [.text(text)] }
  init(path: String) { pieces = [.path(path)] }
  init(_ constant: GraphConstant) { pieces = [.constant(constant)] }
  init(stringInterpolation: Interpolation) { pieces = stringInterpolation.pieces }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var pieces: [Piece] = []

    init(literalCapacity: Int, interpolationCount: Int) {}
    mutating func appendLiteral(_ text: String) { pieces.append(.text(text)) }
    mutating func appendInterpolation(_ text: String) { pieces.append(.text(text)) }
    mutating func appendInterpolation(_ number: Int) { pieces.append(.text("\(number)")) }
    mutating func appendInterpolation(_ phrase: GraphPhrase) { pieces += phrase.pieces }
  }

  static func joined(_ phrases: [GraphPhrase], _ separator: String) -> GraphPhrase {
    var result: GraphPhrase = ""
    for (index, phrase) in phrases.enumerated() {
      if index > 0 { result.pieces.append(.text(separator)) }
      result.pieces += phrase.pieces
    }
    return result
  }
}

/// A constant as it is written in a predicate and as it is sent as an argument.
struct GraphConstant {
  /// The text in the predicate; nil for a constant that has to be an argument.
  let literal: String?
  let wire: JSONValue
  /// The placeholders beside `%@` that take it.
  var placeholders: [String] = []
}

extension GraphPhrase {
  /// A predicate and its arguments.
  struct Rendering {
    var source = ""
    var list: [JSONValue] = []
    var members: [JSONMember] = []

    /// The members `predicate` and `arguments` of a request.
    var requestMembers: [JSONMember] {
      var members = [JSONMember("predicate", .string(source))]
      if !list.isEmpty { members.append(JSONMember("arguments", .array(list))) }
      if !self.members.isEmpty {
        members.append(JSONMember("arguments", .object(self.members)))
      }
      return members
    }
  }

  /// Chooses how constants are written: in the text, as arguments by position, or by name.
  func rendered(_ random: inout SplitMix64) -> Rendering {
    let needsArguments = pieces.contains { piece in
      if case .constant(let constant) = piece { constant.literal == nil } else { false }
    }
    let style = needsArguments ? 1 + random.below(2) : random.below(4)
    var rendering = Rendering()
    for piece in pieces {
      switch piece {
      case .text(let text): rendering.source += text
      case .path(let path):
        if style == 1 && random.oneIn(3) {
          rendering.source += "%K"
          rendering.list.append(.string(path))
        } else {
          rendering.source += path
        }
      case .constant(let constant):
        if let literal = constant.literal, style == 0 || style == 3 || random.oneIn(3) {
          rendering.source += literal
        } else if style == 1 {
          rendering.source += random.pick(["%@"] + constant.placeholders)
          rendering.list.append(constant.wire)
        } else {
          let name = "argument\(rendering.members.count)"
          rendering.source += "$" + name
          rendering.members.append(JSONMember(name, constant.wire))
        }
      }
    }
    return rendering
  }
}

extension GraphPhrase {
  /// Whether the text or a path has a part.
  func contains(_ part: String) -> Bool {
    pieces.contains { piece in
      switch piece {
      case .text(let text), .path(let text): text.contains(part)
      case .constant: false
      }
    }
  }

  /// Whether the phrase is a path that ends with a name.
  func ends(with name: String) -> Bool {
    switch pieces.last {
    case .text(let text)?, .path(let text)?: text.hasSuffix(name)
    default: false
    }
  }
}
