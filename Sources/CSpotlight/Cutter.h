#ifndef CUTTER_H
#define CUTTER_H

#include "CSpotlight.h"

#include <CUnicode.h>

enum {
  // The maximum length of a folded word. A longer word is split into several words at successive
  // positions. A query is split at the same offsets, so that it still finds the word.
  WORD_BYTES_MAX = 512,
  // The maximum length of a word with its sign, like "#tag".
  SIGN_BYTES_MAX = 128,
  // The maximum length of a text in which ICU finds words at once, and of its folded form.
  RUN_BYTES_MAX = 1024,
  RUN_FOLDED_MAX = 4 * RUN_BYTES_MAX,
  // The maximum length of the folded form of a text of WORD_BYTES_MAX bytes.
  FOLDED_BYTES_MAX = 12 * WORD_BYTES_MAX,
  // The maximum number of marks that are brought into canonical order at once.
  MARKS_MAX = 32,
  // The flag of a text inside another text, whose symbols are no tokens.
  CUTTER_WORDS_ONLY = 1 << 8,
  // The maximum number and total length of the different symbols at one position. The next symbol
  // has a position of its own.
  SYMBOLS_MAX = 64,
  SYMBOLS_BYTES_MAX = 1024,
};

/// A symbol at the position of the last word, or before the first word, of a document.
struct symbol {
  int32_t from, size, start, end;
};

/// The state of the tokenizer in one text.
struct cutter {
  const char *text;
  int32_t length;
  int flags;
  void *context;
  spotlight_token take;
  /// The pending word with its sign, which has the position of the next word; `signSize` is 0 for
  /// none.
  char sign[SIGN_BYTES_MAX + 1];
  int32_t signSize;
  /// The end of the last run of singles, the count of its folded code points before the next
  /// single, and a bit for each code point that says whether a word begins there.
  ///
  /// A query has no runs.
  int32_t runEnd, runPlace;
  uint8_t starts[RUN_FOLDED_MAX / 8];
  /// Whether the previous words form a compound that is too long for a token.
  bool isLongCompound;
  /// Whether the text has had a token.
  bool hasToken;
  /// The different symbols at the present position. Before the first word, whose position they
  /// share, they are not emitted yet.
  struct symbol symbols[SYMBOLS_MAX];
  char symbolBytes[SYMBOLS_BYTES_MAX];
  int32_t symbolCount, symbolSize;
};

/// Emits the symbol at an offset, or moves past a separator that is no symbol.
///
/// Returns the result of `take`.
int cutter_symbol(struct cutter *cutter, int32_t *at);

/// Emits the symbols before the first word; the first symbol counts as a word if there is no word.
int cutter_flush_symbols(struct cutter *cutter);

/// Emits a token at a new position.
///
/// A pending sign is emitted at the same position; in a query, the sign replaces the token.
int cutter_emit(
  struct cutter *cutter, const char *token, int32_t size, int32_t start, int32_t end);

/// Emits a token at the position of the last token, if the text is a document.
int cutter_colocate(
  struct cutter *cutter, const char *token, int32_t size, int32_t start, int32_t end);

/// Returns whether a class of code points separates words.
static inline bool cutter_is_separator(uint8_t class) {
  return class == UNICODE_SEPARATOR || class == UNICODE_SYMBOL || class == UNICODE_PUNCTUATION;
}

/// Returns whether a word continues or begins at an offset.
bool cutter_is_word(const struct cutter *cutter, int32_t at);

/// Folds a part of the text, and cuts the result off at the capacity.
///
/// Returns the length, or -1 if memory is short.
int32_t cutter_fold(
  const struct cutter *cutter, int32_t start, int32_t end, int flags, char *out, int32_t capacity);

/// Reads words that are joined by single connectors, as in `foo_bar`, and emits them with their
/// parts.
///
/// `*at` is the offset of the first code point, and afterwards the offset after the last code
/// point.
int cutter_compound(struct cutter *cutter, int32_t *at);

/// 0 for a separator, else the folded byte of an ASCII letter or digit.
extern const unsigned char cutter_ascii[128];

#endif
