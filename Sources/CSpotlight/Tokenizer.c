#include "CSpotlight.h"
#include "Ranking.h"

#include <CUnicode.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/utf8.h>

// The maximum length of a folded word. A longer word is split into several words at successive
// positions. A query is split at the same offsets, so that it still finds the word.
enum { WORD_BYTES_MAX = 512 };

// 0 for a separator, else the folded byte of an ASCII letter or digit.
static const unsigned char asciiFolded[128] = {
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

struct cutter {
  const char *text;
  int32_t length;
  int flags;
  void *context;
  spotlight_token take;
  char word[WORD_BYTES_MAX + 16];
};

// Returns whether a word continues or begins at an offset.
static bool isWord(const struct cutter *cutter, int32_t at) {
  if (at >= cutter->length) return false;
  unsigned char byte = (unsigned char)cutter->text[at];
  if (byte < 0x80) return asciiFolded[byte] != 0;
  UChar32 c;
  U8_NEXT(cutter->text, at, cutter->length, c);
  return c >= 0 && unicode_look_up(c)->class != UNICODE_SEPARATOR;
}

// Returns the length of `++` or `#` directly after a word, as in C++ and C#. Returns 0 if a word
// continues after the symbol.
static int32_t symbolSuffix(const struct cutter *cutter, int32_t at) {
  const char *text = cutter->text;
  int32_t left = cutter->length - at;
  if (left >= 2 && text[at] == '+' && text[at + 1] == '+' && !isWord(cutter, at + 2)) return 2;
  if (left >= 1 && text[at] == '#' && !isWord(cutter, at + 1)) return 1;
  return 0;
}

static int emitWord(struct cutter *cutter, int32_t size, int32_t start, int32_t end) {
  int32_t suffix = size <= 16 ? symbolSuffix(cutter, end) : 0;
  if (suffix == 0) {
    return cutter->take(cutter->context, cutter->word, size, start, end, false);
  }
  if (!(cutter->flags & SPOTLIGHT_QUERY)) {
    int result = cutter->take(cutter->context, cutter->word, size, start, end, false);
    if (result != 0) return result;
  }
  memcpy(cutter->word + size, cutter->text + end, (size_t)suffix);
  return cutter->take(cutter->context, cutter->word, size + suffix, start, end + suffix,
                      !(cutter->flags & SPOTLIGHT_QUERY));
}

// Folds a range of the text as a whole, for code points that fold only with adjacent ones.
static int emitFolded(struct cutter *cutter, int flags, int32_t start, int32_t end) {
  int32_t size = unicode_fold(cutter->text + start, end - start, flags, cutter->word,
                              WORD_BYTES_MAX);
  if (size < 0) return SQLITE_NOMEM;
  if (size == 0) return 0;
  if (size > WORD_BYTES_MAX) size = WORD_BYTES_MAX;
  return cutter->take(cutter->context, cutter->word, size, start, end, false);
}

// Emits a single as a word, with the voicing marks after it.
static int emitSingle(
  struct cutter *cutter, const struct unicode_folded *folded, int32_t start, int32_t *at
) {
  int32_t end = *at;
  while (*at < cutter->length) {
    UChar32 c;
    int32_t next = *at;
    U8_NEXT(cutter->text, next, cutter->length, c);
    if (c < 0 || unicode_look_up(c)->class != UNICODE_VOICING) break;
    *at = next;
  }
  if (*at > end) return emitFolded(cutter, UNICODE_FOLD_CASE, start, *at);
  return cutter->take(
    cutter->context, folded->bytes, folded->length, start, end, false);
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
  return cutter->take(
    cutter->context, token, length, expansion->start, expansion->end, colocated);
}

// Emits the words that a sign represents, each with the offsets of the sign. The folded form has no
// such signs, so that the recursion is one level deep.
static int emitExpanded(
  struct cutter *cutter, const struct unicode_folded *folded, int32_t start, int32_t end
) {
  struct expansion expansion = {cutter, start, end};
  return spotlight_tokenize(
    folded->bytes, folded->length, cutter->flags, &expansion, takeExpanded);
}

// Reads one word from `*at`, the offset of the word's first code point.
static int cutWord(struct cutter *cutter, int32_t *at) {
  const char *text = cutter->text;
  int32_t start = *at, size = 0;
  bool needsContext = false;
  while (*at < cutter->length && size <= WORD_BYTES_MAX
         && (!needsContext || *at - start < WORD_BYTES_MAX)) {
    unsigned char byte = (unsigned char)text[*at];
    if (byte < 0x80) {
      unsigned char folded = asciiFolded[byte];
      if (folded == 0) break;
      cutter->word[size++] = (char)folded;
      *at += 1;
      continue;
    }
    UChar32 c;
    int32_t next = *at;
    U8_NEXT(text, next, cutter->length, c);
    if (c < 0) break;
    const struct unicode_folded *folded = unicode_look_up(c);
    if (folded->class == UNICODE_SEPARATOR || folded->class == UNICODE_SINGLE
        || folded->class == UNICODE_EXPANDED) break;
    if (folded->class == UNICODE_CONTEXT || folded->class == UNICODE_VOICING) needsContext = true;
    if (folded->class == UNICODE_WORD) {
      memcpy(cutter->word + size, folded->bytes, folded->length);
      size += folded->length;
    }
    *at = next;
  }
  if (needsContext) {
    return emitFolded(cutter, UNICODE_FOLD_CASE | UNICODE_FOLD_DIACRITICS, start, *at);
  }
  return size == 0 ? 0 : emitWord(cutter, size, start, *at);
}

int spotlight_tokenize(
  const char *text, int32_t length, int flags, void *context, spotlight_token take
) {
  struct cutter cutter = {
    .text = text, .length = length, .flags = flags, .context = context, .take = take};
  int32_t at = 0;
  while (at < length) {
    unsigned char byte = (unsigned char)text[at];
    if (byte < 0x80 && asciiFolded[byte] == 0) {
      at++;
      continue;
    }
    int result;
    if (byte < 0x80) {
      result = cutWord(&cutter, &at);
    } else {
      UChar32 c;
      int32_t start = at, next = at;
      U8_NEXT(text, next, length, c);
      const struct unicode_folded *folded = c < 0 ? NULL : unicode_look_up(c);
      if (!folded || folded->class == UNICODE_SEPARATOR || folded->class == UNICODE_SILENT) {
        at = next;
        continue;
      }
      if (folded->class == UNICODE_EXPANDED) {
        at = next;
        result = emitExpanded(&cutter, folded, start, next);
      } else if (folded->class == UNICODE_SINGLE) {
        at = next;
        result = emitSingle(&cutter, folded, start, &at);
      } else {
        result = cutWord(&cutter, &at);
        // A voicing mark alone is not part of a word. Skip it, so that the loop advances.
        if (at == start) at = next;
      }
    }
    if (result != 0) return result;
  }
  return 0;
}

const char *spotlight_unicode_version(void) {
  return unicode_version();
}

// MARK: FTS5 interface

static _Thread_local int64_t tokenCount;

int64_t spotlight_take_token_count(void) {
  int64_t count = tokenCount;
  tokenCount = 0;
  return count;
}

struct sink {
  void *context;
  int (*take)(void *, int, const char *, int, int, int);
  int64_t count;
};

static int toFTS5(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated
) {
  struct sink *sink = context;
  if (!colocated) sink->count++;
  return sink->take(
    sink->context, colocated ? FTS5_TOKEN_COLOCATED : 0, token, length, start, end);
}

static int create(void *context, const char **arguments, int count, Fts5Tokenizer **out) {
  (void)context;
  (void)arguments;
  (void)count;
  // The tokenizer has no state, but FTS5 requires a pointer that is not null.
  static char instance;
  *out = (Fts5Tokenizer *)&instance;
  return SQLITE_OK;
}

static void destroy(Fts5Tokenizer *tokenizer) {
  (void)tokenizer;
}

static int tokenize(
  Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int length,
  int (*take)(void *, int, const char *, int, int, int)
) {
  (void)tokenizer;
  struct sink sink = {context, take, 0};
  int ours = flags & FTS5_TOKENIZE_QUERY ? SPOTLIGHT_QUERY : 0;
  int result = spotlight_tokenize(text, length, ours, &sink, toFTS5);
  if (flags & FTS5_TOKENIZE_DOCUMENT) tokenCount += sink.count;
  return result;
}

static fts5_api *api(sqlite3 *connection) {
  fts5_api *found = NULL;
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, NULL) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, &found, "fts5_api_ptr", NULL);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return found;
}


int spotlight_register(sqlite3 *connection) {
  fts5_api *found = api(connection);
  if (!found) return SQLITE_ERROR;
  fts5_tokenizer tokenizer = {create, destroy, tokenize};
  int result = found->xCreateTokenizer(found, "cordial", NULL, &tokenizer, NULL);
  return result == SQLITE_OK ? spotlight_register_ranking(found) : result;
}
