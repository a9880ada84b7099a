#include "Cutter.h"

#include <CUnicode.h>
#include <string.h>
#include <unicode/utf8.h>

enum {
  // The maximum number of parts of a word; a word with more parts, such as a hash, is not split.
  WORD_PARTS_MAX = 8,
  // The maximum number of words, and of bytes, in a compound that is a token as a whole.
  WORDS_MAX = 8,
  WHOLE_BYTES_MAX = 64,
  PARTS_MAX = WORDS_MAX * WORD_PARTS_MAX,
  // The maximum length of a word that `plainLength` reads.
  PLAIN_BYTES_MAX = 48,
};

// A part of a word: `Server` and `2` in `HTTPServer2`.
struct part {
  // The offset in the text.
  int32_t start;
  // The offset in the folded bytes, at which the previous part ends.
  int32_t from;
  // Whether a segment begins here: letters after digits, or digits after letters.
  bool beginsSegment;
  bool beginsWord;
};

struct compound {
  // The folded words, without separators.
  char folded[2 * WORD_BYTES_MAX + 32];
  int32_t size;
  struct part parts[PARTS_MAX + 1];
  int32_t partCount;
  // The offset after each word in the text.
  int32_t ends[WORDS_MAX];
  int32_t wordCount;
  // The number of symbols after the last word, as in C++.
  int32_t suffix;
};

// MARK: Reading

// The last code points of a word, which decide where its parts begin.
struct history {
  uint8_t cases[3];
  int32_t starts[2], froms[2];
};

static void addPart(
  struct compound *compound, int32_t start, int32_t from, bool beginsSegment, bool beginsWord
) {
  if (compound->partCount > 0 && compound->parts[compound->partCount - 1].from >= from) {
    compound->parts[compound->partCount - 1].beginsSegment |= beginsSegment;
    return;
  }
  // The array has room for one extra part, by which `readWord` sees that the last word has too many
  // parts.
  if (compound->partCount > PARTS_MAX) return;
  compound->parts[compound->partCount++] =
    (struct part){start, from, beginsSegment, beginsWord};
}

// Splits the word before a code point if letter case or digits mark a boundary.
static void divide(
  struct compound *compound, struct history *history, int32_t start, uint8_t letterCase
) {
  uint8_t before = history->cases[0];
  bool isDigit = letterCase == UNICODE_DIGIT, wasDigit = before == UNICODE_DIGIT;
  if (isDigit != wasDigit) {
    addPart(compound, start, compound->size, true, false);
  } else if (before == UNICODE_LOWER && letterCase == UNICODE_UPPER) {
    addPart(compound, start, compound->size, false, false);
  } else if (letterCase == UNICODE_LOWER && before == UNICODE_LOWER
             && history->cases[1] == UNICODE_UPPER && history->cases[2] == UNICODE_UPPER) {
    // The last capital of `HTTPServer` begins a part; that of `URLs` does not.
    addPart(compound, history->starts[1], history->froms[1], false, false);
  }
}

static void remember(
  struct history *history, uint8_t letterCase, int32_t start, int32_t from
) {
  history->cases[2] = history->cases[1];
  history->cases[1] = history->cases[0];
  history->cases[0] = letterCase;
  history->starts[1] = history->starts[0];
  history->starts[0] = start;
  history->froms[1] = history->froms[0];
  history->froms[0] = from;
}

// Turns the last word into a single part.
static void join(struct compound *compound, int32_t first) {
  compound->partCount = first + 1;
}

int32_t cutter_fold(
  const struct cutter *cutter, int32_t start, int32_t end, int flags, char *out, int32_t capacity
) {
  const char *text = cutter->text + start;
  int32_t size = unicode_fold(text, end - start, flags, out, capacity);
  if (size <= capacity) return size;
  // If the result does not fit, `out` is undefined, so the text is folded into a larger buffer.
  char whole[FOLDED_BYTES_MAX];
  size = unicode_fold(text, end - start, flags, whole, FOLDED_BYTES_MAX);
  if (size < 0 || size > FOLDED_BYTES_MAX) return -1;
  size = capacity;
  U8_SET_CP_START((const uint8_t *)whole, 0, size);
  memcpy(out, whole, (size_t)size);
  return size;
}

// Folds the last word as a whole, for code points that fold only with adjacent ones.
static int foldInContext(
  struct cutter *cutter, struct compound *compound, int32_t first, int32_t start, int32_t end
) {
  int32_t from = compound->parts[first].from;
  int32_t size = cutter_fold(
    cutter, start, end, UNICODE_FOLD_WIDELY | UNICODE_FOLD_DIACRITICS,
    compound->folded + from, WORD_BYTES_MAX);
  if (size < 0) return SQLITE_NOMEM;
  compound->size = from + size;
  join(compound, first);
  return SQLITE_OK;
}

// Reads one word. Silent code points alone are not a word.
static int readWord(struct cutter *cutter, struct compound *compound, int32_t *at) {
  const char *text = cutter->text;
  const int32_t start = *at, from = compound->size, first = compound->partCount;
  bool needsContext = false, isDivided = false;
  struct history history = {0};
  addPart(compound, start, from, true, true);
  while (*at < cutter->length && compound->size - from <= WORD_BYTES_MAX
         && (!needsContext || *at - start < WORD_BYTES_MAX)) {
    unsigned char byte = (unsigned char)text[*at];
    int32_t here = *at;
    if (byte < 0x80) {
      unsigned char folded = cutter_ascii[byte];
      if (folded == 0) break;
      uint8_t letterCase = byte <= '9' ? UNICODE_DIGIT
        : byte <= 'Z' ? UNICODE_UPPER : UNICODE_LOWER;
      if (isDivided) divide(compound, &history, here, letterCase);
      remember(&history, letterCase, here, compound->size);
      compound->folded[compound->size++] = (char)folded;
      *at += 1;
      isDivided = true;
      continue;
    }
    UChar32 c;
    int32_t next = *at;
    U8_NEXT(text, next, cutter->length, c);
    if (c < 0) break;
    const struct unicode_folded *folded = unicode_look_up(c);
    if (folded->class == UNICODE_CONTEXT || folded->class == UNICODE_VOICING) {
      needsContext = true;
    } else if (folded->class == UNICODE_WORD) {
      if (isDivided) divide(compound, &history, here, folded->letterCase);
      remember(&history, folded->letterCase, here, compound->size);
      memcpy(compound->folded + compound->size, folded->bytes, folded->length);
      compound->size += folded->length;
      isDivided = true;
    } else if (folded->class != UNICODE_SILENT) {
      break;
    }
    *at = next;
  }
  if (needsContext) {
    int result = foldInContext(cutter, compound, first, start, *at);
    if (result != SQLITE_OK) return result;
  }
  if (compound->partCount - first > WORD_PARTS_MAX) join(compound, first);
  if (compound->size == from) {
    compound->partCount = first;
  } else {
    compound->ends[compound->wordCount++] = *at;
  }
  return SQLITE_OK;
}

// Returns whether the text at an offset continues the word before a symbol. A letter of a script
// without spaces, as in C++入門, and a pictograph begin a new word.
static bool continuesWord(const struct cutter *cutter, int32_t at) {
  if (at >= cutter->length) return false;
  unsigned char byte = (unsigned char)cutter->text[at];
  if (byte < 0x80) return cutter_ascii[byte] != 0;
  UChar32 c;
  U8_NEXT(cutter->text, at, cutter->length, c);
  // A syllable of Hangul may be written as its letters.
  if (c < 0 || (c >= 0x1100 && c <= 0x115F)) return false;
  uint8_t class = unicode_look_up(c)->class;
  return !cutter_is_separator(class) && class != UNICODE_SINGLE && class != UNICODE_PICTOGRAPH;
}

// Returns the length of `++` or `#` directly after a word, as in C++ and C#. Returns 0 if a word
// continues after the symbol.
static int32_t symbolSuffix(const struct cutter *cutter, int32_t at) {
  const char *text = cutter->text;
  int32_t left = cutter->length - at;
  if (left >= 2 && text[at] == '+' && text[at + 1] == '+' && !continuesWord(cutter, at + 2)) {
    return 2;
  }
  if (left >= 1 && text[at] == '#' && !continuesWord(cutter, at + 1)) return 1;
  return 0;
}

// Returns the offset of the word that a connector joins to the previous word, or 0.
static int32_t nextOfCompound(const struct cutter *cutter, int32_t at) {
  if (at >= cutter->length) return 0;
  int32_t next = at + 1;
  switch (cutter->text[at]) {
  case '\'': case '-': case '_': case '.': case '@': case '/': case ':': break;
  default: {
    UChar32 c;
    next = at;
    U8_NEXT(cutter->text, next, cutter->length, c);
    // The typographic apostrophe, and the hyphens.
    if (c != 0x2019 && c != 0x2010 && c != 0x2011) return 0;
  }
  }
  if (next >= cutter->length) return 0;
  unsigned char byte = (unsigned char)cutter->text[next];
  if (byte < 0x80) return cutter_ascii[byte] != 0 ? next : 0;
  UChar32 c;
  int32_t behind = next;
  U8_NEXT(cutter->text, behind, cutter->length, c);
  if (c < 0) return 0;
  uint8_t class = unicode_look_up(c)->class;
  return class == UNICODE_WORD || class == UNICODE_CONTEXT ? next : 0;
}

// MARK: Emitting

static int32_t endOfPart(const struct compound *compound, int32_t part) {
  return part + 1 < compound->partCount ? compound->parts[part + 1].from : compound->size;
}

// Emits the parts from `part` to before `behind` as one token.
static int emitRange(
  struct cutter *cutter, const struct compound *compound, int32_t part, int32_t behind,
  int32_t end, bool isColocated
) {
  const char *token = compound->folded + compound->parts[part].from;
  int32_t size = endOfPart(compound, behind - 1) - compound->parts[part].from;
  return (isColocated ? cutter_colocate : cutter_emit)(
    cutter, token, size, compound->parts[part].start, end);
}

// Returns the index of the part after the segment that begins at `part`.
static int32_t behindSegment(const struct compound *compound, int32_t part) {
  do part++;
  while (part < compound->partCount && !compound->parts[part].beginsSegment);
  return part;
}

static int32_t behindWord(const struct compound *compound, int32_t part) {
  do part++;
  while (part < compound->partCount && !compound->parts[part].beginsWord);
  return part;
}

// Returns the offset in the text at which the parts before `behind` end.
static int32_t endBefore(const struct compound *compound, int32_t behind) {
  int32_t word = -1;
  for (int32_t part = 0; part < behind; part++) word += compound->parts[part].beginsWord;
  bool endsWord = behind == compound->partCount || compound->parts[behind].beginsWord;
  return endsWord ? compound->ends[word] : compound->parts[behind].start;
}

// Emits the last word with its suffix.
static int emitSuffixed(
  struct cutter *cutter, const struct compound *compound, int32_t part, int32_t end,
  bool isColocated
) {
  char token[WORD_BYTES_MAX];
  int32_t size = compound->size - compound->parts[part].from;
  const char *suffix = cutter->text + compound->ends[compound->wordCount - 1];
  memcpy(token, compound->folded + compound->parts[part].from, (size_t)size);
  memcpy(token + size, suffix, (size_t)compound->suffix);
  return (isColocated ? cutter_colocate : cutter_emit)(
    cutter, token, size + compound->suffix, compound->parts[part].start, end);
}

static bool isSuffixed(const struct compound *compound, int32_t part) {
  return compound->suffix > 0 && compound->parts[part].beginsWord
    && behindWord(compound, part) == compound->partCount;
}

// Emits the segments of a word that a query may join: `iphone15` of `iPhone15Pro`.
static int emitJoined(struct cutter *cutter, const struct compound *compound, int32_t first) {
  int32_t end = behindWord(compound, first);
  int32_t behind = behindSegment(compound, first);
  bool hasParts = behind - first > 1;
  while (behind < end) {
    int32_t next = behindSegment(compound, behind);
    hasParts |= next - behind > 1;
    behind = next;
    bool isWhole = behind == end && compound->parts[first].beginsWord;
    if (!hasParts && !isWhole) continue;
    int result = emitRange(
      cutter, compound, first, behind, endBefore(compound, behind), true);
    if (result != 0) return result;
  }
  return 0;
}

static int emitDocument(struct cutter *cutter, const struct compound *compound, bool isWhole) {
  for (int32_t part = 0; part < compound->partCount; part++) {
    int result = emitRange(
      cutter, compound, part, part + 1, endBefore(compound, part + 1), false);
    if (result == 0 && compound->parts[part].beginsSegment) {
      int32_t behind = behindSegment(compound, part);
      if (behind > part + 1) {
        result = emitRange(
          cutter, compound, part, behind, endBefore(compound, behind), true);
      }
      if (result == 0) result = emitJoined(cutter, compound, part);
    }
    if (result == 0 && isSuffixed(compound, part)) {
      int32_t end = compound->ends[compound->wordCount - 1] + compound->suffix;
      result = emitSuffixed(cutter, compound, part, end, true);
    }
    if (result == 0 && part == 0 && isWhole) {
      int32_t end = compound->ends[compound->wordCount - 1];
      result = emitRange(cutter, compound, 0, compound->partCount, end, true);
    }
    if (result != 0) return result;
  }
  return 0;
}

static int emitQuery(struct cutter *cutter, const struct compound *compound, bool isWhole) {
  int level = cutter->flags & SPOTLIGHT_QUERY;
  for (int32_t part = 0; part < compound->partCount;) {
    int32_t behind;
    if (level == SPOTLIGHT_QUERY_WHOLES && isWhole) {
      behind = compound->partCount;
    } else if (level == SPOTLIGHT_QUERY_PARTS) {
      behind = part + 1;
    } else if (level == SPOTLIGHT_QUERY_SEGMENTS) {
      behind = behindSegment(compound, part);
    } else {
      behind = behindWord(compound, part);
    }
    int32_t end = endBefore(compound, behind);
    int result = isSuffixed(compound, part)
      ? emitSuffixed(cutter, compound, part, end, false)
      : emitRange(cutter, compound, part, behind, end, false);
    if (result != 0) return result;
    part = behind;
  }
  return 0;
}

// Returns the length of an ASCII word that has one part and belongs to no compound, or 0 for a word
// that `readWord` must read.
static int32_t plainLength(const struct cutter *cutter, int32_t at, char *word) {
  const char *text = cutter->text + at;
  int32_t left = cutter->length - at, size = 0;
  bool isNumber = text[0] >= '0' && text[0] <= '9';
  for (; size < left && size < PLAIN_BYTES_MAX; size++) {
    unsigned char byte = (unsigned char)text[size];
    if (byte >= 0x80) return 0;
    unsigned char folded = cutter_ascii[byte];
    if (folded == 0) break;
    if (isNumber ? byte > '9' : size > 0 && byte < 'a') return 0;
    word[size] = (char)folded;
  }
  if (size == PLAIN_BYTES_MAX) return 0;
  if (size == left) return size;
  switch (text[size]) {
  case '+': case '#': return 0;
  case '\'': case '-': case '_': case '.': case '@': case '/': case ':':
    if (size + 1 == left) return size;
    unsigned char next = (unsigned char)text[size + 1];
    return next < 0x80 && cutter_ascii[next] == 0 ? size : 0;
  default: return size;
  }
}

int cutter_compound(struct cutter *cutter, int32_t *at) {
  char word[PLAIN_BYTES_MAX];
  int32_t plain = plainLength(cutter, *at, word);
  if (plain > 0) {
    int32_t start = *at;
    *at += plain;
    cutter->isLongCompound = false;
    return cutter_emit(cutter, word, plain, start, *at);
  }
  struct compound compound;
  compound.size = compound.partCount = compound.wordCount = compound.suffix = 0;
  int32_t next = *at;
  bool isLong = cutter->isLongCompound;
  cutter->isLongCompound = false;
  for (;;) {
    *at = next;
    int32_t known = compound.wordCount;
    int result = readWord(cutter, &compound, at);
    if (result != SQLITE_OK) return result;
    if (compound.wordCount == known) break;
    int32_t size = compound.size;
    for (int32_t part = compound.partCount - 1; part >= 0; part--) {
      if (compound.parts[part].beginsWord) {
        size = compound.size - compound.parts[part].from;
        break;
      }
    }
    compound.suffix = size <= 16 ? symbolSuffix(cutter, *at) : 0;
    if (compound.suffix > 0) break;
    next = nextOfCompound(cutter, *at);
    if (next == 0) break;
    if (compound.wordCount == WORDS_MAX || compound.size > WORD_BYTES_MAX) {
      cutter->isLongCompound = true;
      break;
    }
  }
  bool isWhole = compound.wordCount > 1 && compound.suffix == 0 && !isLong
    && !cutter->isLongCompound && compound.size <= WHOLE_BYTES_MAX;
  return (cutter->flags & SPOTLIGHT_QUERY ? emitQuery : emitDocument)(
    cutter, &compound, isWhole);
}
