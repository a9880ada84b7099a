#include "Cutter.h"
#include "Ranking.h"
#include "Words.h"

#include <CUnicode.h>
#include <string.h>
#include <unicode/utf8.h>

const unsigned char cutter_ascii[128] = {
  ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6',
  ['7'] = '7', ['8'] = '8', ['9'] = '9', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',
  ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',
  ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',
  ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
  ['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f',
  ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm',
  ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't',
  ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
};

bool cutter_is_word(const struct cutter *cutter, int32_t at) {
  if (at >= cutter->length) return false;
  unsigned char byte = (unsigned char)cutter->text[at];
  if (byte < 0x80) return cutter_ascii[byte] != 0;
  UChar32 c;
  U8_NEXT(cutter->text, at, cutter->length, c);
  return c >= 0 && !cutter_is_separator(unicode_look_up(c)->class);
}

int cutter_colocate(
  struct cutter *cutter, const char *token, int32_t size, int32_t start, int32_t end
) {
  if (cutter->flags & SPOTLIGHT_QUERY) return 0;
  return cutter->take(cutter->context, token, size, start, end, true);
}

int cutter_emit(
  struct cutter *cutter, const char *token, int32_t size, int32_t start, int32_t end
) {
  int32_t signSize = cutter->signSize;
  cutter->signSize = 0;
  bool isFirst = !cutter->hasToken;
  cutter->hasToken = true;
  if (!isFirst) cutter->symbolCount = cutter->symbolSize = 0;
  if (signSize > 0 && cutter->flags & SPOTLIGHT_QUERY) {
    return cutter->take(cutter->context, cutter->sign, signSize, start, end, false);
  }
  int result = cutter->take(cutter->context, token, size, start, end, false);
  if (result == 0 && isFirst) result = cutter_flush_symbols(cutter);
  if (result != 0 || signSize == 0) return result;
  return cutter_colocate(cutter, cutter->sign, signSize, start, end);
}

// Returns the class of the code point at an offset, and moves the offset past it.
static int classAt(const struct cutter *cutter, int32_t *at) {
  UChar32 c;
  U8_NEXT(cutter->text, *at, cutter->length, c);
  return c < 0 ? UNICODE_SEPARATOR : unicode_look_up(c)->class;
}

// Finds the words in the run of singles that begins at an offset. ICU reads the folded text, which
// is the same for all normal forms, and which has kana and Chinese characters as written.
static int findWords(struct cutter *cutter, int32_t at) {
  int32_t end = at;
  while (end < cutter->length && end - at < RUN_BYTES_MAX - U8_MAX_LENGTH) {
    int32_t next = end;
    uint8_t class = classAt(cutter, &next);
    if (class != UNICODE_SINGLE && class != UNICODE_VOICING && class != UNICODE_JAMO
        && class != UNICODE_JAMO_BEHIND) {
      break;
    }
    end = next;
  }
  cutter->runEnd = end;
  cutter->runPlace = 0;
  memset(cutter->starts, 0, sizeof cutter->starts);
  char folded[RUN_FOLDED_MAX];
  int32_t size = unicode_fold(
    cutter->text + at, end - at, UNICODE_FOLD_WIDELY, folded, RUN_FOLDED_MAX);
  if (size < 0) return SQLITE_NOMEM;
  if (size <= RUN_FOLDED_MAX) unicode_word_starts(folded, size, cutter->starts);
  return 0;
}

static int32_t codePointCount(const char *text, int32_t size) {
  int32_t count = 0;
  for (int32_t at = 0; at < size; at++) count += ((unsigned char)text[at] & 0xC0) != 0x80;
  return count;
}

// Emits a single, in its marked form if a word begins with it.
static int emitMarked(
  struct cutter *cutter, const char *token, int32_t size, int32_t start, int32_t end
) {
  if (cutter->flags & (SPOTLIGHT_QUERY | SPOTLIGHT_UNMARKED)) {
    return cutter_emit(cutter, token, size, start, end);
  }
  int result = start >= cutter->runEnd ? findWords(cutter, start) : SQLITE_OK;
  if (result != 0) return result;
  int32_t place = cutter->runPlace;
  cutter->runPlace += codePointCount(token, size);
  if (place >= RUN_FOLDED_MAX || !(cutter->starts[place >> 3] >> (place & 7) & 1)) {
    return cutter_emit(cutter, token, size, start, end);
  }
  char marked[WORD_BYTES_MAX + 1];
  marked[0] = SPOTLIGHT_START_MARK;
  memcpy(marked + 1, token, (size_t)size);
  return cutter_emit(cutter, marked, size + 1, start, end);
}

// Folds a range of the text as a whole, for code points that fold only with adjacent ones.
static int emitFolded(struct cutter *cutter, int32_t start, int32_t end) {
  char word[WORD_BYTES_MAX];
  int32_t size = cutter_fold(cutter, start, end, UNICODE_FOLD_WIDELY, word, WORD_BYTES_MAX);
  if (size < 0) return SQLITE_NOMEM;
  if (size == 0) return 0;
  unicode_fold_kana(word, size);
  return emitMarked(cutter, word, size, start, end);
}

// Returns whether the text at an offset is the Thai or Lao vowel AM, written as two parts of three
// bytes each. The folded vowel consists of the same two parts, as one token.
static bool isDividedVowel(const struct cutter *cutter, int32_t at) {
  if (cutter->length - at < 6) return false;
  const char *text = cutter->text + at;
  return memcmp(text, "\xE0\xB9\x8D\xE0\xB8\xB2", 6) == 0
    || memcmp(text, "\xE0\xBB\x8D\xE0\xBA\xB2", 6) == 0;
}

// Emits a single as a word, with the voicing marks or the letters of its syllable after it.
static int emitSingle(
  struct cutter *cutter, const struct unicode_folded *folded, int32_t start, int32_t *at
) {
  int32_t end = *at;
  if (isDividedVowel(cutter, start)) {
    *at = start + 6;
    return emitMarked(cutter, cutter->text + start, 6, start, *at);
  }
  while (*at < cutter->length && *at - start < WORD_BYTES_MAX / 4) {
    int32_t next = *at;
    int class = classAt(cutter, &next);
    if (class != UNICODE_VOICING && class != UNICODE_JAMO_BEHIND) break;
    *at = next;
  }
  if (*at > end) return emitFolded(cutter, start, *at);
  return emitMarked(cutter, folded->bytes, folded->length, start, end);
}

// Emits a sequence of pictographs as one word, without its variation selectors and skin tones.
static int emitPictographs(
  struct cutter *cutter, const struct unicode_folded *folded, int32_t start, int32_t *at
) {
  char word[WORD_BYTES_MAX];
  int32_t size = folded->length;
  bool isRegional = folded->class == UNICODE_REGIONAL;
  memcpy(word, folded->bytes, (size_t)size);
  while (*at < cutter->length && size < WORD_BYTES_MAX - 32) {
    UChar32 c, joined;
    int32_t next = *at;
    U8_NEXT(cutter->text, next, cutter->length, c);
    if (c < 0) break;
    const struct unicode_folded *other = unicode_look_up(c);
    if (isRegional) {
      // Two regional halves are a flag; the third half begins the next flag.
      if (other->class != UNICODE_REGIONAL) break;
      memcpy(word + size, other->bytes, other->length);
      size += other->length;
      *at = next;
      break;
    }
    if (c == 0x200D && next < cutter->length) {
      int32_t behind = next;
      U8_NEXT(cutter->text, behind, cutter->length, joined);
      const struct unicode_folded *second = joined < 0 ? NULL : unicode_look_up(joined);
      if (!second || second->class != UNICODE_PICTOGRAPH) break;
      memcpy(word + size, cutter->text + *at, (size_t)(next - *at));
      size += next - *at;
      memcpy(word + size, second->bytes, second->length);
      size += second->length;
      *at = behind;
      continue;
    }
    bool isModifier = c == 0xFE0E || c == 0xFE0F || c == 0x20E3
      || (c >= 0x1F3FB && c <= 0x1F3FF) || (c >= 0xE0020 && c <= 0xE007F);
    if (!isModifier) break;
    *at = next;
  }
  return cutter_emit(cutter, word, size, start, *at);
}

struct expansion {
  struct cutter *cutter;
  int32_t start, end;
};

static int takeExpanded(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated
) {
  (void)start;
  (void)end;
  struct expansion *expansion = context;
  struct cutter *cutter = expansion->cutter;
  return (colocated ? cutter_colocate : cutter_emit)(
    cutter, token, length, expansion->start, expansion->end);
}

// Emits the words that a sign represents, each with the offsets of the sign. The folded form has no
// such signs, so that the recursion is one level deep.
static int emitExpanded(
  struct cutter *cutter, const struct unicode_folded *folded, int32_t start, int32_t end
) {
  struct expansion expansion = {cutter, start, end};
  const char *words = folded->bytes;
  int32_t length = folded->length;
  char form[UNICODE_EXPANDED_MAX];
  if (length == 0) {
    int flags = UNICODE_FOLD_WIDELY | UNICODE_FOLD_DIACRITICS;
    length = cutter_fold(cutter, start, end, flags, form, UNICODE_EXPANDED_MAX);
    if (length < 0) return SQLITE_NOMEM;
    words = form;
  }
  return spotlight_tokenize(
    words, length, cutter->flags | CUTTER_WORDS_ONLY, &expansion, takeExpanded);
}

// MARK: Signs

static int appendToSign(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated
) {
  (void)start;
  (void)end;
  (void)colocated;
  struct cutter *cutter = context;
  if (cutter->signSize + length > SIGN_BYTES_MAX) {
    cutter->signSize = SIGN_BYTES_MAX + 1;
    return SQLITE_DONE;
  }
  memcpy(cutter->sign + cutter->signSize, token, (size_t)length);
  cutter->signSize += length;
  return 0;
}

// Reads the word after `#` or `@`. The sign and the word are one token, as in `#tag` and `@name`.
static void readSign(struct cutter *cutter, int32_t at) {
  int32_t start = at + 1, end = start;
  while (end < cutter->length && end - start <= 4 * SIGN_BYTES_MAX) {
    if (cutter->text[end] != '_' && !cutter_is_word(cutter, end)) break;
    U8_FWD_1(cutter->text, end, cutter->length);
  }
  if (!cutter_is_word(cutter, start)) return;
  cutter->sign[0] = cutter->text[at];
  cutter->signSize = 1;
  spotlight_tokenize(
    cutter->text + start, end - start, SPOTLIGHT_QUERY_WHOLES | CUTTER_WORDS_ONLY, cutter,
    appendToSign);
  if (cutter->signSize == 1 || cutter->signSize > SIGN_BYTES_MAX) cutter->signSize = 0;
}

// MARK: Texts

// Returns the canonical combining class of a mark of Thai or Lao, or 0 for another code point.
static int markClass(UChar32 c) {
  switch (c) {
  case 0xE38: case 0xE39: return 103;
  case 0xE48: case 0xE49: case 0xE4A: case 0xE4B: return 107;
  case 0xEB8: case 0xEB9: return 118;
  case 0xEC8: case 0xEC9: case 0xECA: case 0xECB: return 122;
  default: return 0;
  }
}

// Emits a sequence of Thai or Lao marks in canonical order if the text has them in another order,
// which looks the same. Each mark has the range of the whole sequence. A sequence in canonical
// order is not emitted, and `*at` stays at its first mark.
static int emitMarks(struct cutter *cutter, int32_t *at) {
  UChar32 marks[MARKS_MAX];
  int32_t count = 0, end = *at;
  bool isOrdered = true;
  while (end < cutter->length && count < MARKS_MAX) {
    int32_t next = end;
    UChar32 c;
    U8_NEXT(cutter->text, next, cutter->length, c);
    if (c < 0 || markClass(c) == 0) break;
    // Marks of one class keep their order.
    int32_t place = count++;
    for (; place > 0 && markClass(marks[place - 1]) > markClass(c); place--) {
      marks[place] = marks[place - 1];
      isOrdered = false;
    }
    marks[place] = c;
    end = next;
  }
  if (isOrdered) return 0;
  int32_t start = *at;
  *at = end;
  for (int32_t place = 0; place < count; place++) {
    const struct unicode_folded *folded = unicode_look_up(marks[place]);
    int result = emitMarked(cutter, folded->bytes, folded->length, start, end);
    if (result != 0) return result;
  }
  return 0;
}

// Emits the word at an offset, and moves the offset past it.
static int cut(struct cutter *cutter, int32_t *at) {
  if ((unsigned char)cutter->text[*at] < 0x80) return cutter_compound(cutter, at);
  UChar32 c;
  int32_t start = *at, next = *at;
  U8_NEXT(cutter->text, next, cutter->length, c);
  const struct unicode_folded *folded = c < 0 ? NULL : unicode_look_up(c);
  switch (folded ? folded->class : UNICODE_SEPARATOR) {
  case UNICODE_SEPARATOR: case UNICODE_SILENT:
    *at = next;
    return 0;
  case UNICODE_SYMBOL: case UNICODE_PUNCTUATION:
    return cutter_symbol(cutter, at);
  case UNICODE_EXPANDED:
    *at = next;
    return emitExpanded(cutter, folded, start, next);
  case UNICODE_SINGLE: case UNICODE_JAMO: case UNICODE_JAMO_BEHIND:
    if (markClass(c) > 0) {
      int result = emitMarks(cutter, at);
      if (result != 0 || *at > start) return result;
    }
    *at = next;
    return emitSingle(cutter, folded, start, at);
  case UNICODE_PICTOGRAPH: case UNICODE_REGIONAL:
    *at = next;
    return emitPictographs(cutter, folded, start, at);
  default: {
    int result = cutter_compound(cutter, at);
    // A voicing mark alone is not part of a word. Skip it, so that the loop advances.
    if (*at == start) *at = next;
    return result;
  }
  }
}

int spotlight_tokenize(
  const char *text, int32_t length, int flags, void *context, spotlight_token take
) {
  struct cutter cutter;
  cutter.text = text;
  cutter.length = length;
  cutter.flags = flags;
  cutter.context = context;
  cutter.take = take;
  cutter.signSize = 0;
  cutter.runEnd = 0;
  cutter.runPlace = 0;
  cutter.isLongCompound = false;
  cutter.hasToken = false;
  cutter.symbolCount = cutter.symbolSize = 0;
  int32_t at = 0, end = -1;
  while (at < length) {
    unsigned char byte = (unsigned char)text[at];
    if (byte < 0x80 && cutter_ascii[byte] == 0) {
      // A sign directly precedes a word, and does not directly follow a word.
      if ((byte == '#' || byte == '@') && at != end) readSign(&cutter, at);
      if (byte <= ' ' || cutter.signSize > 0) {
        at++;
        continue;
      }
      int result = cutter_symbol(&cutter, &at);
      if (result != 0) return result;
      continue;
    }
    int result = cut(&cutter, &at);
    if (result != 0) return result;
    cutter.signSize = 0;
    end = at;
  }
  return cutter.hasToken ? 0 : cutter_flush_symbols(&cutter);
}

bool spotlight_is_single(const char *token, int32_t length) {
  if (length <= 0) return false;
  UChar32 c;
  int32_t at = 0;
  U8_NEXT(token, at, length, c);
  if (c < 0) return false;
  uint8_t class = unicode_look_up(c)->class;
  return class == UNICODE_SINGLE || class == UNICODE_JAMO || class == UNICODE_JAMO_BEHIND;
}

static int countToken(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated
) {
  (void)token;
  (void)length;
  (void)start;
  (void)end;
  int64_t *count = context;
  if (!colocated) ++*count;
  return 0;
}

int64_t spotlight_token_count(const char *text, int32_t length) {
  int64_t count = 0;
  spotlight_tokenize(text, length, SPOTLIGHT_UNMARKED, &count, countToken);
  return count;
}

const char *spotlight_unicode_version(void) {
  return unicode_version();
}

// MARK: FTS5 interface

struct sink {
  void *context;
  int (*take)(void *, int, const char *, int, int, int);
  int64_t count;
  struct spotlight_words *words;
};

static int toFTS5(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated
) {
  struct sink *sink = context;
  if (!colocated) sink->count++;
  int result = sink->words ? words_collect(sink->words, token, length) : SQLITE_OK;
  if (result != SQLITE_OK) return result;
  return sink->take(
    sink->context, colocated ? FTS5_TOKEN_COLOCATED : 0, token, length, start, end);
}

// The tokenizer of a connection without a collection of words.
static char plainTokenizer;

static int create(void *context, const char **arguments, int count, Fts5Tokenizer **out) {
  (void)arguments;
  (void)count;
  *out = context ? context : (Fts5Tokenizer *)&plainTokenizer;
  return SQLITE_OK;
}

static void destroy(Fts5Tokenizer *tokenizer) {
  (void)tokenizer;
}

// Passes on the tokens of a MATCH expression, whose texts are already tokens.
static int takeTokens(
  void *context, const char *text, int length,
  int (*take)(void *, int, const char *, int, int, int)
) {
  int flags = 0;
  for (int start = 0, at = 0; at <= length; at++) {
    bool isOr = at < length && text[at] == SPOTLIGHT_TOKEN_OR;
    if (at < length && text[at] != SPOTLIGHT_TOKEN_END && !isOr) continue;
    int result =
      at > start ? take(context, flags, text + start, at - start, start, at) : SQLITE_OK;
    if (result != SQLITE_OK) return result;
    flags = isOr ? FTS5_TOKEN_COLOCATED : 0;
    start = at + 1;
  }
  return SQLITE_OK;
}

static int tokenize(
  Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int length,
  int (*take)(void *, int, const char *, int, int, int)
) {
  if (flags & FTS5_TOKENIZE_QUERY) return takeTokens(context, text, length, take);
  struct sink sink = {context, take, 0, NULL};
  if (flags & FTS5_TOKENIZE_DOCUMENT && tokenizer != (Fts5Tokenizer *)&plainTokenizer) {
    sink.words = (struct spotlight_words *)tokenizer;
  }
  int result = spotlight_tokenize(text, length, 0, &sink, toFTS5);
  if (sink.words) words_count(sink.words, sink.count);
  return result;
}

static fts5_api *api(sqlite3 *connection) {
  fts5_api *found = NULL;
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, NULL) == SQLITE_OK) {
    if (sqlite3_bind_pointer(statement, 1, &found, "fts5_api_ptr", NULL) == SQLITE_OK) {
      sqlite3_step(statement);
    }
  }
  sqlite3_finalize(statement);
  return found;
}

int spotlight_register(sqlite3 *connection, struct spotlight_words *words) {
  fts5_api *found = api(connection);
  if (!found) return SQLITE_ERROR;
  fts5_tokenizer tokenizer = {create, destroy, tokenize};
  int result = found->xCreateTokenizer(found, "cordial", words, &tokenizer, NULL);
  return result == SQLITE_OK ? spotlight_register_ranking(found) : result;
}
