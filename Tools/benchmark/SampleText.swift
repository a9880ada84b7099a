import Glibc

/// English-like text out of a seed: some 4,000 words, the n-th about 1/n as frequent as the first.
///
/// The most frequent words are real ones, the others made of syllables, about one in sixty of them
/// with a letter that has an accent, so that a tokenizer meets more than ASCII. Nothing in the text
/// needs an escape in JSON, SQL or PostgreSQL's COPY.
struct SampleText {
  private let words: [String]
  private let logarithmOfCount: Double
  private var random: SeededRandom

  init(seed: UInt64) {
    words = Self.vocabulary(count: 4_000)
    logarithmOfCount = log(Double(words.count + 1))
    random = SeededRandom(seed: seed)
  }

  mutating func number(below bound: Int) -> Int { random.below(bound) }

  /// Words in a row, the first letter large: a name or title.
  mutating func title(wordCount: Int) -> String {
    (0..<wordCount).map { _ in rareWord().capitalizedFirst }.joined(separator: " ")
  }

  /// Sentences of at least so many bytes, ended by a full stop.
  mutating func sentences(byteCount: Int) -> String {
    var text = ""
    text.reserveCapacity(byteCount + 24)
    var wordsLeft = 0
    while text.utf8.count < byteCount {
      if wordsLeft == 0 {
        if !text.isEmpty { text += ". " }
        text += word().capitalizedFirst
        wordsLeft = 5 + random.below(12)
      } else {
        text += random.below(14) == 0 ? ", " : " "
        text += word()
      }
      wordsLeft -= 1
    }
    return text + "."
  }

  /// A word by Zipf's law: the logarithm of the rank is spread evenly.
  private mutating func word() -> String {
    let rank = Int(exp(random.fraction() * logarithmOfCount)) - 1
    return words[min(rank, words.count - 1)]
  }

  /// One of the 200 most common words.
  mutating func commonWord() -> String { Self.commonWords[random.below(200)] }

  private mutating func rareWord() -> String {
    words[Self.commonWords.count + random.below(words.count - Self.commonWords.count)]
  }

  // MARK: The words

  private static func vocabulary(count: Int) -> [String] {
    var random = SeededRandom(seed: 1)
    var words = commonWords
    var known = Set(words)
    while words.count < count {
      let word = madeUpWord(&random)
      if known.insert(word).inserted { words.append(word) }
    }
    return words
  }

  private static func madeUpWord(_ random: inout SeededRandom) -> String {
    let onsets = split("b c d f g h j k l m n p r s t v w st tr pl br ch sh th gr cl")
    let vowels = split("a e i o u a e i o u ea ou ai ee io")
    let codas = split("n r s t l m d ck nd st ng rt ss") + ["", "", "", "", ""]
    var word = ""
    for _ in 0..<(1 + random.below(3)) {
      word += onsets[random.below(onsets.count)] + vowels[random.below(vowels.count)]
    }
    word += codas[random.below(codas.count)]
    if random.below(60) == 0 { word += split("é ü ñ ø å")[random.below(5)] }
    return word
  }

  private static func split(_ text: String) -> [String] {
    text.split(separator: " ").map(String.init)
  }

  private static let commonWords = split(
    """
    the of and to in a is that for it as was with be by on not he his but at are this have from or \
    had an they which one you were all her she there would their we him been has when who will no \
    more if out so up said what its about than into them can only other time new some could these \
    two may first then do any like my now over such our man me even most made after also well did \
    many before must years through back where much your way down should because long each just \
    state those people too mister how little good world make very year still see own work men day \
    get here old between both life being under three never know same last another while us off \
    might great go come since against right came take used himself few house use during without \
    again place american around however home small found thought went say part once general high \
    upon school every does got united left number course war until always away something fact \
    water though public less put think almost hand enough far took head yet government system set \
    better told nothing night end why called find going look asked later knew point next program \
    city business give group toward young days let room side social given present several order \
    national possible rather second face per among form important often things looked early white \
    case become large big need four within felt along children saw best church ever least power \
    development light thing seemed family interest want members mind country area others done \
    turned although open god service certain kind problem began different door thus help sense \
    means whole matter
    """
  )
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
