/// The object of every row: six attributes, about 200 bytes of text, the same ones in every run.
struct Item {
  var name: String
  let count: Int64
  let size: Int32
  let done: Bool
  let weight: Double
  var text: String

  init(from sample: inout SampleText) {
    name = sample.title(wordCount: 2)
    count = Int64(sample.number(below: 1_000_000_000))
    size = Int32(sample.number(below: 100_000))
    done = sample.number(below: 2) == 0
    weight = Double(sample.number(below: 100_000)) / 100
    text = sample.sentences(byteCount: 190)
  }

  static func make(_ count: Int) -> [Item] {
    var sample = SampleText(seed: 20_250_101)
    return (0..<count).map { _ in Item(from: &sample) }
  }

  /// The attributes as a JSON object; the sample text has nothing to escape.
  var json: String {
    """
    {"name":"\(name)","count":\(count),"size":\(size),"done":\(done),"weight":\(weight),\
    "text":"\(text)"}
    """
  }

  /// The columns as SQL for SQLite and PostgreSQL, without a key.
  static let columns = """
    name text NOT NULL, count bigint NOT NULL, size integer NOT NULL, done boolean NOT NULL, \
    weight double precision NOT NULL, text text NOT NULL
    """
}

/// `model`: writes the model that a server is given; `--index no` leaves out what makes its objects
/// searchable, for rows whose peers index nothing either.
enum WriteModel {
  static func run(_ options: Options) throws -> Report {
    let isIndexed = options.text("index", default: "yes") == "yes"
    try Files.write(model(isIndexed ? spotlight : ""), to: options.text("file"))
    return Report()
  }

  private static let spotlight = """
    ,
        "spotlight": {"displayName": "name", "attributes": {"name": 2.0, "text": 1.0}}
    """

  private static func model(_ more: String) -> String {
    """
    {"name": "Benchmark", "version": "1",
     "entities": [
       {"name": "Item",
        "attributes": [
          {"name": "name", "type": "string"},
          {"name": "count", "type": "int64"},
          {"name": "size", "type": "int32"},
          {"name": "done", "type": "boolean"},
          {"name": "weight", "type": "double"},
          {"name": "text", "type": "string"}]\(more)}]}

    """
  }
}
