// CUnicode: one folding and one collation for store, subscriptions and index, from ICU.
//
// Must not know: Swift, SQL. This header includes no ICU header: Swift's Foundation has its own ICU
// as a Clang module, and the two clash in one import.
//
// What always holds:
// 1. Every function accepts any bytes: invalid UTF-8 counts as U+FFFD.
// 2. Every function may be called from any thread.

#ifndef CUNICODE_H
#define CUNICODE_H

#include <CInterruption.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  /// Folds case fully. Canonically equivalent texts have the same result.
  UNICODE_FOLD_CASE = 1,
  /// Folds accents by dropping combining marks.
  UNICODE_FOLD_DIACRITICS = 2,
  /// Also folds width and compatibility forms and drops joiners, with `UNICODE_FOLD_CASE`.
  UNICODE_FOLD_COMPATIBILITY = 4,
  /// Folds as the index does, with NFKC_Casefold.
  UNICODE_FOLD_WIDELY = UNICODE_FOLD_CASE | UNICODE_FOLD_COMPATIBILITY,
};

/// Folds UTF-8 into `out`. Returns the length of the complete result in bytes, or -1 if memory is
/// short. If the length is greater than `capacity`, the content of `out` is undefined.
int32_t unicode_fold(
  const char *text, int32_t length, int flags, char *out, int32_t capacity);

/// Writes the lower case of UTF-8 into `out`, with the rule of the final sigma. Returns the length
/// of the complete result in bytes, or -1 if ICU fails. If the length is greater than `capacity`,
/// the content of `out` is undefined.
int32_t unicode_lower(const char *text, int32_t length, char *out, int32_t capacity);

/// Returns the first offset at or after `from` at which a text can be cut so that the folded parts
/// together equal the folded text; `length` if there is none.
int32_t unicode_fold_cut(const char *text, int32_t length, int32_t from);

/// Returns whether a text contains a part, compared byte by byte, in linear time.
bool unicode_contains(const void *text, size_t length, const void *part, size_t partLength);

/// Compares two strings by ICU's root collation, with digits as numbers.
/// Returns a negative number, zero or a positive number; zero only if the collation finds no
/// difference.
int unicode_collate(const char *a, int32_t aLength, const char *b, int32_t bLength);

/// Computes the sort key of UTF-8 text: bytes that sort in the order of `unicode_collate`.
///
/// Returns the length of the whole key, with a zero byte at its end; -1 if memory is short. If the
/// length is greater than `capacity`, the content of `out` is undefined.
int32_t unicode_sort_key(const char *text, int32_t length, unsigned char *out, int32_t capacity);

/// A compiled ICU regular expression; only one thread may use it at a time.
struct unicode_regex;

/// Compiles a regular expression. Returns NULL if ICU rejects it or memory is short. `*errorOffset`
/// is then the offset of the fault in UTF-16 code units, or -1 if memory is short.
struct unicode_regex *unicode_regex_open(
  const char *pattern, int32_t length, int ignoresCase, int32_t *errorOffset);

enum {
  /// The interruption ended the match.
  UNICODE_REGEX_STOPPED = -1,
  /// The match needs more memory than ICU allows.
  UNICODE_REGEX_FAILED = -2,
};

/// Returns 1 if a whole text matches, 0 if it does not, or one of the negative results above.
/// `interruption` may be NULL.
int unicode_regex_matches(
  struct unicode_regex *regex, const char *text, int32_t length,
  struct interruption *interruption);

void unicode_regex_close(struct unicode_regex *regex);

/// Returns the versions of ICU, of Unicode and of the collation, as in "72.1 15.0 153.120".
const char *unicode_version(void);

/// The class of a code point in the tokenizer.
enum unicode_class {
  /// A separator of words.
  UNICODE_SEPARATOR = 0,
  /// Part of a word: letters, digits, marks that carry meaning.
  UNICODE_WORD = 1,
  /// A code point that is a word: Han, kana, Hangul, Thai, Lao, Khmer, Myanmar.
  UNICODE_SINGLE = 2,
  /// Part of a word that folding removes: accents, joiners, soft hyphens.
  UNICODE_SILENT = 3,
  /// A voicing mark of kana, which belongs to the UNICODE_SINGLE before it.
  UNICODE_VOICING = 4,
  /// Part of a word that folds only together with adjacent code points.
  UNICODE_CONTEXT = 5,
  /// A sign that represents words, like U+3314 SQUARE KIRO: its folded form is tokenized.
  UNICODE_EXPANDED = 6,
  /// A pictograph, which may be part of a sequence that is one word.
  UNICODE_PICTOGRAPH = 7,
  /// One half of a flag.
  UNICODE_REGIONAL = 8,
  /// A Hangul letter that begins a syllable.
  UNICODE_JAMO = 9,
  /// A Hangul letter that belongs to the syllable before it.
  UNICODE_JAMO_BEHIND = 10,
  /// A separator of words that is a token: signs of currency and of mathematics, arrows, lines.
  UNICODE_SYMBOL = 11,
  /// A separator of words that is part of a token only where no word is next to it.
  UNICODE_PUNCTUATION = 12,
};

enum {
  /// The maximum length of the folded form of UNICODE_EXPANDED, in bytes.
  UNICODE_EXPANDED_MAX = 64,
};

/// The case of a code point, by which a word is split into its parts.
enum unicode_case {
  UNICODE_UNCASED = 0,
  UNICODE_LOWER = 1,
  UNICODE_UPPER = 2,
  UNICODE_DIGIT = 3,
};

/// The class of a code point and its folded form without context.
///
/// A UNICODE_SINGLE is folded to its search form: Han to simplified characters, hiragana to
/// katakana. The length of a UNICODE_EXPANDED is 0 if its folded form is longer than `bytes`.
struct unicode_folded {
  uint8_t class;
  uint8_t letterCase;
  uint8_t length;
  char bytes[13];
};

/// Replaces hiragana by katakana in UTF-8, in place.
void unicode_fold_kana(char *text, int32_t length);

/// Finds the words in a text of a script without spaces, with ICU's dictionaries.
///
/// `starts` has a zero bit for each code point of the text. The function sets the bits of the code
/// points at which a word begins. A text of Hangul alone is one word, because ICU cannot divide it.
void unicode_word_starts(const char *text, int32_t length, uint8_t *starts);

/// A transliteration of ICU; only one thread may use it at a time.
struct unicode_transliterator;

/// Opens a transliteration by its ASCII identifier, such as "Latin-Hiragana". Returns NULL if ICU
/// has no such transliteration or memory is short.
struct unicode_transliterator *unicode_transliterator_open(const char *name);

/// Transliterates UTF-8 into `out`. Returns the length of the complete result in bytes, or -1 if
/// memory is short. If the length is greater than `capacity`, the content of `out` is undefined.
int32_t unicode_transliterate(
  struct unicode_transliterator *transliterator, const char *text, int32_t length, char *out,
  int32_t capacity);

void unicode_transliterator_close(struct unicode_transliterator *transliterator);

/// Returns the entry of a code point. The first look-up in a block of 256 code points takes some
/// 100 µs, and later look-ups take nanoseconds.
const struct unicode_folded *unicode_look_up(int32_t codePoint);

#endif
