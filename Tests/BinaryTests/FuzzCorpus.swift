import TestSeeds

/// Valid messages for every method of `Protocol/openrpc.json`, put together from templates.
///
/// In a template, `%` and a letter stand for a value that is drawn: see `value(_:_:)`.
struct FuzzCorpus {
  /// A kind of message, and how often it is sent.
  struct Template: Sendable {
    let weight: Int
    let method: String
    let params: String
    var isNotification = false
  }

  /// What answers named, to be sent back.
  struct ResponseValues {
    private(set) var tokens: [String] = []
    private(set) var cursors: [String] = []
    private(set) var subscriptions: [String] = []
    /// The ID of the last request that was sent.
    var lastID = 0

    mutating func take(_ answer: AnswerReader.Answer) {
      if let token = answer.string("token") { Self.add(token, to: &tokens) }
      if let cursor = answer.string("next") { Self.add(cursor, to: &cursors) }
      if let name = answer.string("subscription") { Self.add(name, to: &subscriptions) }
    }

    private static func add(_ text: String, to list: inout [String]) {
      if list.count >= 32 { list.removeFirst(16) }
      if list.last != text { list.append(text) }
    }
  }

  /// How many objects the messages that let the store grow insert each.
  static let growth = 1000

  /// The folder of the test; backups are made in it only.
  let folder: String

  /// A request or notification.
  ///
  /// - Parameters:
  ///   - id: The ID as it is written.
  ///   - template: What is sent.
  ///   - responseValues: What answers named.
  ///   - random: Chance.
  /// - Returns: The message's text.
  func message(
    _ id: String,
    _ template: Template,
    _ responseValues: ResponseValues,
    _ random: inout SplitMix64
  ) -> [UInt8] {
    var bytes = Array(#"{"jsonrpc":"2.0","#.utf8)
    if !template.isNotification { bytes += Array(#""id":\#(id),"#.utf8) }
    bytes += Array(#""method":"\#(template.method)","params":"#.utf8)
    var isEscaped = false
    for byte in template.params.utf8 {
      if isEscaped {
        bytes += Array(value(byte, responseValues, &random).utf8)
        isEscaped = false
      } else if byte == UInt8(ascii: "%") {
        isEscaped = true
      } else {
        bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  /// A save that inserts many objects.
  func growing(_ id: String, _ random: inout SplitMix64) -> [UInt8] {
    var text = #"{"jsonrpc":"2.0","id":\#(id),"method":"save","params":{"durability":"normal","#
    text += #""insert":[{"id":"Box/t0","values":{"label":"grown"}}"#
    for number in 1..<Self.growth {
      let box = number < 200 ? #","box":"Box/t0""# : ""
      text += #",{"entity":"Item","values":{"title":"grown \#(number)","#
      text += #""rank":\#(random.below(100_000))\#(box)}}"#
    }
    return Array((text + "]}}").utf8)
  }

  /// One of the templates, by weight.
  static func pick(_ random: inout SplitMix64) -> Template {
    var place = random.below(weightSum)
    for template in templates {
      place -= template.weight
      if place < 0 { return template }
    }
    return templates[0]
  }

  private static let weightSum = templates.reduce(0) { $0 + $1.weight }

  // MARK: Values

  private func value(
    _ letter: UInt8,
    _ responseValues: ResponseValues,
    _ random: inout SplitMix64
  ) -> String {
    switch letter {
    case UInt8(ascii: "n"): "\(random.below(300))"
    case UInt8(ascii: "N"): random.pick(Self.numbers)
    case UInt8(ascii: "i"): Self.identifier(&random)
    case UInt8(ascii: "b"): "\"Box/p\(1 + random.below(20))\""
    case UInt8(ascii: "g"): "\"Tag/sg\(random.below(40))\""
    case UInt8(ascii: "s"): random.pick(Self.texts)
    case UInt8(ascii: "p"): "\"" + random.pick(Self.predicates) + "\""
    case UInt8(ascii: "e"): random.pick(["Thing", "Note", "Item", "Box", "Tag"])
    case UInt8(ascii: "o"): random.pick(["title", "-rank", "rank", "title:localized", "box.label"])
    case UInt8(ascii: "t"):
      responseValues.tokens.isEmpty ? "\"0-1-0\"" : "\"\(random.pick(responseValues.tokens))\""
    case UInt8(ascii: "c"):
      responseValues.cursors.isEmpty ? "null" : "\"\(random.pick(responseValues.cursors))\""
    case UInt8(ascii: "u"):
      responseValues.subscriptions.isEmpty
        ? "\"s1\"" : "\"\(random.pick(responseValues.subscriptions))\""
    case UInt8(ascii: "k"): "\"k\(random.below(12))\""
    case UInt8(ascii: "m"):
      random.pick(["error", "storeTrump", "objectTrump", "overwrite", "rollback"])
    case UInt8(ascii: "a"): random.pick(["null", "\"ann\"", "\"bob\"", "\"external\""])
    case UInt8(ascii: "q"): "\"" + random.pick(Self.queries) + "\""
    case UInt8(ascii: "z"): random.pick(["true", "false"])
    case UInt8(ascii: "r"): "\(responseValues.lastID - random.below(8))"
    case UInt8(ascii: "f"): "\"\(folder)/\(random.pick(Self.copies))\""
    default: "%"
    }
  }

  /// The wrapped ID of an object that may be there; descendants of Thing have their own ranges.
  private static func identifier(_ random: inout SplitMix64) -> String {
    let number = 1 + random.below(random.oneIn(3) ? 2000 : 60)
    switch random.below(6) {
    case 0: return "\"Note/p\(1 << 45 | number)\""
    case 1, 2: return "\"Item/p\(2 << 45 | number)\""
    case 3: return "\"Box/p\(number)\""
    case 4: return "\"Thing/p\(2 << 45 | number)\""
    default: return "\"Tag/sg\(random.below(40))\""
    }
  }

  private static let copies = ["b0", "b1", "b2", "none/b", "s", "Test.cordial", ""]

  private static let numbers = [
    "0", "-1", "1", "32767", "-32768", "2147483647", "2147483648", "9007199254740993", "1e3",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "0.1", "-0", "1e308",
    "1e300", "null", "\"9223372036854775807\"", "\"12.5\"", "true",
  ]

  private static let texts = [
    "\"\"", "\"a\"", "\"Milk and honey\"", "\"日本語の文章\"", "\"ภาษาไทย\"", "\"👩‍👩‍👧‍👦 emoji\"",
    "\"e\\u0301 é\"", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\ud83d\\ude00\"", "\"‏עברית\"", "null",
    "\"quote ' and \\\" and \\\\\"", "\"straße STRASSE\"", "\"\\t\\n\\r\"", "\"%@ %K $x #y\"",
    "\"\(String(repeating: "long ", count: 300))\"", "\"I\\u0307\"", "\"-\"", "\"\u{FFFD}\"",
  ]

  private static let queries = [
    "milk", "mil", "\\\"milk and\\\"", "-honey milk", "milk OR 日本", "title:grown", "gro*", "日",
    "ภาษ", "*", "-", "\\\"", "OR", "", "grown 17", "é", "title:", ":x", "a b c d e f g",
  ]

  private static let predicates = [
    "TRUEPREDICATE", "FALSEPREDICATE", "title == 'a'", "title CONTAINS[cd] 'MILK'", "rank > 5",
    "rank BETWEEN {1, 9}", "rank IN {1, 2, 3}", "title LIKE '*m?lk*'", "title MATCHES '[a-z]+'",
    "box.label == 'grown'", "box.parent.label != nil", "box == nil", "SELF IN {'Box/p1'}",
    "NOT (rank == 0 OR title BEGINSWITH 'g')", "title == nil AND rank + 1 > 2 * 3",
    "length:(title) > 3", "lowercase:(title) == 'a'", "rank / 0 == nil", "rank ** 2 > 100",
  ]
}

extension FuzzCorpus {
  /// A model with every kind of property.
  static let model = """
    {"name":"Fuzz","version":"1","entities":[
      {"name":"Thing","abstract":true,"attributes":[
        {"name":"title","type":"string","optional":true},
        {"name":"rank","type":"int32","default":0}],
       "relationships":[{"name":"box","destination":"Box","inverse":"things","optional":true}],
       "spotlight":{"displayName":"title","attributes":{"title":2}}},
      {"name":"Note","parent":"Thing","attributes":[
        {"name":"body","type":"string","optional":true,"maximumLength":2000},
        {"name":"when","type":"date","optional":true},
        {"name":"folded","type":"string","optional":true,"derived":"canonical:(title)"}]},
      {"name":"Item","parent":"Thing","attributes":[
        {"name":"price","type":"decimal","optional":true},
        {"name":"size","type":"double","optional":true},
        {"name":"flag","type":"boolean","default":false},
        {"name":"extra","type":"json","optional":true},
        {"name":"data","type":"binary","optional":true},
        {"name":"key","type":"uuid","optional":true}],
       "relationships":[{"name":"tags","destination":"Tag","toMany":true,"inverse":"items"}],
       "indexes":[["rank"]]},
      {"name":"Box","attributes":[
        {"name":"label","type":"string","optional":true},
        {"name":"count","type":"int64","derived":"things.@count"},
        {"name":"sum","type":"int64","derived":"things.@sum.rank"}],
       "relationships":[
        {"name":"things","destination":"Thing","toMany":true,"ordered":true,"inverse":"box",
         "deleteRule":"cascade"},
        {"name":"parent","destination":"Box","inverse":"children","optional":true},
        {"name":"children","destination":"Box","toMany":true,"inverse":"parent"}]},
      {"name":"Tag","identity":"name","attributes":[
        {"name":"name","type":"string"},
        {"name":"serial","type":"int64","optional":true}],
       "relationships":[{"name":"items","destination":"Item","toMany":true,"inverse":"tags"}],
       "unique":[["serial"]]}],
     "values":[{"name":"short","entity":"Item","select":{"title":"title","tags":"tags.@count"}}],
     "templates":[{"name":"high","entity":"Item","predicate":"rank > 10","sort":["-rank"],
       "limit":5,"value":"short"}]}
    """

  /// The beginning of every connection with headers.
  static let initialize = Template(
    weight: 0,
    method: "initialize",
    params: #"{"processId":null,"capabilities":{},"cordial":{"author":%a,"coalesce":%n}}"#
  )

  static let templates: [Template] =
    fetches + saves + observations + histories + others

  private static let fetches = [
    row(60, "fetch", #"{"ids":[%i,%i,%i]}"#),
    row(20, "fetch", #"{"ids":[%i,%g],"select":["title","rank","box.label"]}"#),
    row(40, "fetch", #"{"entity":"%e","predicate":%p,"limit":%n}"#),
    row(20, "fetch", #"{"entity":"Item","predicate":%p,"sort":["%o","%o"],"limit":5,"offset":%n}"#),
    row(20, "fetch", #"{"entity":"Item","sort":["%o"],"limit":1,"result":"ids"}"#),
    row(20, "fetch", #"{"entity":"Item","sort":["%o"],"limit":3,"result":"ids","after":%c}"#),
    row(
      10,
      "fetch",
      #"{"entity":"Item","predicate":"title == %%@ OR %%K > %%@","arguments":[%s,"rank",%N]}"#
    ),
    row(
      10,
      "fetch",
      #"{"entity":"Note","predicate":"folded CONTAINS $x","arguments":{"x":%s},"limit":4}"#
    ),
    row(10, "fetch", #"{"entity":"Box","limit":6,"include":["things","parent.children"]}"#),
    row(6, "fetch", #"{"entity":"Box","select":{"l":"label","n":"things.@count"},"limit":%n}"#),
    row(6, "fetch", #"{"template":"high"}"#),
    row(4, "fetch", #"{"entity":"Box","predicate":"ANY things.rank > %n","limit":5}"#),
    row(
      3,
      "fetch",
      #"{"entity":"Box","predicate":"SUBQUERY(things, $t, $t.rank > %n).@count > 1","limit":5}"#
    ),
    row(
      3,
      "fetch",
      #"{"entity":"Item","result":"values","select":["flag","@count","@max.rank"],"groupBy":["flag"]}"#
    ),
    row(
      2,
      "fetch",
      #"{"entity":"Item","result":"values","select":["rank"],"distinct":true,"limit":7}"#
    ),
    row(2, "fetch", #"{"entity":"Thing","sectionBy":"box.label","limit":5,"total":true}"#),
    row(3, "fetch", #"{"entity":"%e","result":"count"}"#),
    row(1, "fetch", #"{"entity":"%e"}"#),
    row(8, "fetch", #"{"ids":[%i],"at":%t}"#),
    row(20, "search", #"{"query":%q,"highlight":%z,"objects":%z,"prefix":%z,"limit":%n}"#),
    row(6, "search", #"{"query":%q,"entities":["%e"],"offset":%n,"at":%t}"#),
  ]

  private static let saves = [
    row(30, "save", #"{"insert":[{"entity":"Note","values":{"title":%s,"body":%s,"rank":%n}}]}"#),
    row(
      30,
      "save",
      #"{"insert":[{"entity":"Item","values":{"title":%s,"rank":%N,"price":%N,"size":%N,"box":%b}}]}"#
    ),
    row(
      20,
      "save",
      #"{"insert":[{"id":"Box/t1","values":{"label":%s}},{"entity":"Note","values":{"box":"Box/t1"}}]}"#
    ),
    row(
      20,
      "save",
      #"{"insert":[{"id":%g,"values":{"serial":%n}}],"mergePolicy":"%m","author":%a}"#
    ),
    row(40, "save", #"{"update":[{"id":%i,"values":{"title":%s,"rank":%n}}],"author":%a}"#),
    row(
      20,
      "save",
      #"{"update":[{"id":%i,"version":1,"values":{"title":%s}}],"mergePolicy":"%m"}"#
    ),
    row(20, "save", #"{"update":[{"id":%b,"values":{"things":{"@add":[%i],"@at":%n}}}]}"#),
    row(10, "save", #"{"update":[{"id":%b,"values":{"things":{"@add":[%i],"@remove":[%i]}}}]}"#),
    row(10, "save", #"{"update":[{"id":%b,"values":{"parent":%b,"children":[%b,%b]}}]}"#),
    row(10, "save", #"{"update":[{"id":%i,"values":{"tags":[%g,%g],"extra":{"a":[%N,%s]}}}]}"#),
    row(10, "save", #"{"update":[{"id":%g,"values":{"items":{"@add":[%i]},"name":%s}}]}"#),
    row(10, "save", #"{"delete":[%i],"dryRun":%z}"#),
    row(10, "save", #"{"delete":[{"id":%i,"version":1}],"mergePolicy":"%m","context":"c%n"}"#),
    row(
      6,
      "save",
      #"{"insert":[{"entity":"Note"}],"transaction":"0f8fad5b-d9cb-469f-a165-708677289502"}"#
    ),
    row(10, "delete", #"{"ids":[%i],"returning":"ids"}"#),
    row(
      3,
      "delete",
      #"{"entity":"Note","predicate":"rank == %n AND title == %%@","arguments":[%s]}"#
    ),
    row(6, "delete", #"{"entity":"%e","predicate":%p,"dryRun":true}"#),
    row(6, "update", #"{"entity":"Note","predicate":"rank < %n","set":{"title":%s}}"#),
    row(
      4,
      "update",
      #"{"entity":"Box","predicate":"label == 'a'","set":{"label":{"@expression":"uppercase:(label)"}}}"#
    ),
    row(
      4,
      "update",
      #"{"entity":"Item","predicate":"rank == %n","set":{"rank":{"@expression":"rank + 1"}}}"#
    ),
    row(10, "undo", #"{"author":%a,"mergePolicy":"storeTrump"}"#),
    row(6, "undo", #"{"count":2,"dryRun":%z}"#),
    row(8, "redo", #"{"author":%a}"#),
  ]

  private static let observations = [
    row(12, "observe", #"{"ids":[%i,%i],"key":%k}"#),
    row(12, "observe", #"{"fetch":{"entity":"Note","predicate":%p,"limit":20},"key":%k}"#),
    row(6, "observe", #"{"fetch":{"entity":"%e","sort":["%o"],"limit":%n},"mode":"ids","key":%k}"#),
    row(
      6,
      "observe",
      #"{"fetch":{"entity":"Box","predicate":"things.@count > 2"},"mode":"signal","key":%k}"#
    ),
    row(1, "observe", #"{"fetch":{"entity":"%e"},"key":%k}"#),
    row(12, "unobserve", #"{"subscription":%u}"#),
    row(4, "observe/flush", "{}"),
  ]

  private static let histories = [
    row(12, "history", #"{"limit":%n}"#), row(12, "history", #"{"since":%t,"limit":5}"#),
    row(6, "history", #"{"since":%t,"entities":["%e"],"authors":[%a],"limit":3}"#),
    row(2, "history/purge", #"{"keep":{"transactions":%n}}"#),
    row(2, "history/purge", #"{"before":%t}"#),
    row(6, "follower/register", #"{"name":%k}"#),
    row(6, "follower/acknowledge", #"{"name":%k,"token":%t}"#),
    row(4, "follower/list", "{}"), row(4, "follower/remove", #"{"name":%k}"#),
  ]

  private static let others = [
    row(3, "initialize", #"{"capabilities":{},"cordial":{"mergePolicy":"%m","author":%a}}"#),
    row(6, "model", "{}"), row(20, "status", "{}"), row(1, "rpc.discover", "{}"),
    row(6, "index/status", "{}"),
    row(1, "shutdown", "null"),
    Template(weight: 1, method: "exit", params: "null", isNotification: true),
    Template(weight: 3, method: "initialized", params: "{}", isNotification: true),
    Template(weight: 10, method: "$/cancelRequest", params: #"{"id":%r}"#, isNotification: true),
    Template(weight: 3, method: "$/setTrace", params: #"{"value":"off"}"#, isNotification: true),
  ]

  /// What takes long in a large store, sent now and then.
  static let rare = [
    row(1, "store/verify", "{}"), row(1, "index/verify", "{}"), row(1, "store/compact", "{}"),
    row(1, "store/backup", #"{"path":%f}"#),
  ]

  private static func row(_ weight: Int, _ method: String, _ params: String) -> Template {
    Template(weight: weight, method: method, params: params)
  }
}
