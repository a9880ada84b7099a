// CUnicode: one folding and one collation for store, subscriptions and index, from ICU.
//
// Must not know: Swift, SQL. No ICU header stands here: Swift's Foundation carries its own ICU as
// a Clang module, and the two clash in one import.
//
// What always holds:
// 1. Every function takes any bytes: what is not UTF-8 counts as U+FFFD.
// 2. Every function may be called from any thread.

#ifndef CUNICODE_H
#define CUNICODE_H

#include <stdint.h>

enum {
  /// Case does not matter: NFKC_Casefold, which also folds width and compatibility forms.
  UNICODE_FOLD_CASE = 1,
  /// Accents do not matter: combining marks are dropped.
  UNICODE_FOLD_DIACRITICS = 2,
};

/// Folds UTF-8 into `out` and returns the length of the whole result in bytes, which may be more
/// than `capacity` (then `out` holds nothing of use), or -1 when memory is short.
int32_t unicode_fold(
  const char *text, int32_t length, int flags, char *out, int32_t capacity);

/// Compares two strings as a person sorts them: ICU's root collation, digits as numbers.
/// Negative, zero or positive; equal only when the collation finds no difference.
int unicode_collate(const char *a, int32_t aLength, const char *b, int32_t bLength);

/// A compiled regular expression of ICU's; used by one thread at a time.
struct unicode_regex;

/// Compiles a regular expression. NULL when ICU does not take it: then `*errorOffset` is where, in
/// UTF-16 code units, or -1 when memory is short.
struct unicode_regex *unicode_regex_open(
  const char *pattern, int32_t length, int ignoresCase, int32_t *errorOffset);

/// Whether a whole text matches: 1 or 0; -1 when matching took more steps than are allowed.
int unicode_regex_matches(struct unicode_regex *regex, const char *text, int32_t length);

void unicode_regex_close(struct unicode_regex *regex);

/// The versions of ICU, of Unicode and of the collation, as in "72.1 15.0 153.120".
const char *unicode_version(void);

/// What a code point is to the tokenizer.
enum unicode_class {
  /// Stands between words.
  UNICODE_SEPARATOR = 0,
  /// Part of a word: letters, digits, marks that carry meaning.
  UNICODE_WORD = 1,
  /// A word of its own: Han, kana, Thai, Lao, Khmer, Myanmar, pictographs.
  UNICODE_SINGLE = 2,
  /// Part of a word, folded to nothing: accents, joiners, soft hyphens.
  UNICODE_SILENT = 3,
  /// Belongs to the single before it: marks that voice kana.
  UNICODE_VOICING = 4,
  /// Part of a word that folds only together with its neighbours, as conjoining jamo do.
  UNICODE_CONTEXT = 5,
  /// A sign that stands for words, as the square of kiro does: cut as what it folds to.
  UNICODE_EXPANDED = 6,
};

/// A code point's class and what it folds to by itself.
struct unicode_folded {
  uint8_t class;
  uint8_t length;
  char bytes[14];
};

/// Looks up a code point; the first look-up in a block of 256 costs some 100 µs, later ones
/// nanoseconds.
const struct unicode_folded *unicode_look_up(int32_t codePoint);

#endif
