#include "CUnicode.h"
#include "Marks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/ucol.h>
#include <unicode/unorm2.h>
#include <unicode/uregex.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>
#include <unicode/utrans.h>

static const UNormalizer2 *compatible, *nfd, *nfc;
static UCollator *collator;
static UCaseMap *casing;
static char version[64];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
  UErrorCode status = U_ZERO_ERROR;
  compatible = unorm2_getNFKCCasefoldInstance(&status);
  nfd = unorm2_getNFDInstance(&status);
  nfc = unorm2_getNFCInstance(&status);
  collator = ucol_open("", &status);
  casing = ucasemap_open("", 0, &status);
  // ICU does not work without its data, and Cordial does not work without ICU.
  if (U_FAILURE(status)) {
    fprintf(stderr, "ICU cannot be used: %s\n", u_errorName(status));
    abort();
  }
  ucol_setAttribute(collator, UCOL_NUMERIC_COLLATION, UCOL_ON, &status);
  UVersionInfo collation;
  ucol_getVersion(collator, collation);
  snprintf(version, sizeof version, "%s %s %d.%d", U_ICU_VERSION, U_UNICODE_VERSION,
           collation[0], collation[1]);
}

const char *unicode_version(void) {
  pthread_once(&once, start);
  return version;
}

// Returns whether the combining marks of a script are accents. In other scripts, marks are vowels
// or carry other meaning.
static bool hasSilentMarks(UScriptCode script) {
  switch (script) {
  case USCRIPT_INHERITED: case USCRIPT_COMMON: case USCRIPT_LATIN: case USCRIPT_GREEK:
  case USCRIPT_CYRILLIC: case USCRIPT_ARABIC: case USCRIPT_HEBREW:
    return true;
  default:
    return false;
  }
}

bool marks_is_silent(int32_t c) {
  if (u_charType(c) != U_NON_SPACING_MARK && u_charType(c) != U_ENCLOSING_MARK) return false;
  if (c == 0x3099 || c == 0x309A) return false;
  UErrorCode status = U_ZERO_ERROR;
  return hasSilentMarks(uscript_getScript(c, &status));
}

// Drops accents from NFD text in place and returns the new length.
static int32_t dropMarks(UChar *text, int32_t length) {
  int32_t out = 0;
  for (int32_t in = 0; in < length;) {
    UChar32 c;
    U16_NEXT(text, in, length, c);
    if (!marks_is_silent(c)) U16_APPEND_UNSAFE(text, out, c);
  }
  return out;
}

// A folding step, with the signature of ICU's normalization.
typedef int32_t step(
  const UNormalizer2 *form, const UChar *text, int32_t length, UChar *out, int32_t capacity,
  UErrorCode *status);

static int32_t foldCase(
  const UNormalizer2 *form, const UChar *text, int32_t length, UChar *out, int32_t capacity,
  UErrorCode *status
) {
  (void)form;
  return u_strFoldCase(out, capacity, text, length, U_FOLD_CASE_DEFAULT, status);
}

static int32_t result(
  step *step, const UNormalizer2 *form, const UChar *text, int32_t length, UChar **out
) {
  UErrorCode status = U_ZERO_ERROR;
  // ICU's lengths have 32 bits, so the capacity for a very long text is INT32_MAX.
  int32_t capacity = length > (INT32_MAX - 32) / 3 ? INT32_MAX : length * 3 + 32;
  *out = malloc((size_t)capacity * sizeof(UChar));
  if (!*out) return -1;
  int32_t needed = step(form, text, length, *out, capacity, &status);
  if (status == U_BUFFER_OVERFLOW_ERROR) {
    UChar *larger = realloc(*out, (size_t)needed * sizeof(UChar));
    if (!larger) {
      free(*out);
      return -1;
    }
    *out = larger;
    status = U_ZERO_ERROR;
    needed = step(form, text, length, *out, needed, &status);
  }
  if (U_FAILURE(status)) {
    free(*out);
    return -1;
  }
  return needed;
}

// Replaces `*text` by the result of a step and frees the old text. Returns false if memory is
// short.
static bool apply(step *step, const UNormalizer2 *form, UChar **text, int32_t *length) {
  UChar *out = NULL;
  int32_t count = result(step, form, *text, *length, &out);
  free(*text);
  *text = count < 0 ? NULL : out;
  *length = count;
  return count >= 0;
}

static bool normalize(const UNormalizer2 *form, UChar **text, int32_t *length) {
  return apply(unorm2_normalize, form, text, length);
}

// Returns whether a text has only kana, Chinese characters and Korean syllables. Folding without
// UNICODE_FOLD_DIACRITICS never changes such a text.
static int isSettled(const char *text, int32_t length) {
  for (int32_t at = 0; at < length;) {
    UChar32 c;
    U8_NEXT(text, at, length, c);
    int isKana = (c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA) || c == 0x30FC;
    if (!isKana && !(c >= 0x4E00 && c <= 0x9FFF) && !(c >= 0xAC00 && c <= 0xD7A3)) return 0;
  }
  return 1;
}

int32_t unicode_fold(
  const char *text, int32_t length, int flags, char *out, int32_t capacity
) {
  pthread_once(&once, start);
  if (length == INT32_MAX) return -1;
  int32_t ascii = 0;
  while (ascii < length && (unsigned char)text[ascii] < 0x80) ascii++;
  if (ascii == length) {
    for (int32_t i = 0; i < length && i < capacity; i++) {
      char c = text[i];
      out[i] = (flags & UNICODE_FOLD_CASE) && c >= 'A' && c <= 'Z' ? c + 32 : c;
    }
    return length;
  }
  if (!(flags & UNICODE_FOLD_DIACRITICS) && isSettled(text, length)) {
    memcpy(out, text, (size_t)(length < capacity ? length : capacity));
    return length;
  }
  UErrorCode status = U_ZERO_ERROR;
  int32_t count = 0;
  UChar *wide = malloc(((size_t)length + 1) * sizeof(UChar));
  if (!wide) return -1;
  u_strFromUTF8WithSub(wide, length + 1, &count, text, length, 0xFFFD, NULL, &status);
  if (U_FAILURE(status)) {
    free(wide);
    return -1;
  }
  // Marks are dropped before and after case folding. Case folding turns the Greek iota subscript
  // into a letter, and the decomposition of compatibility forms produces more marks.
  bool isCompatible = flags & UNICODE_FOLD_COMPATIBILITY;
  bool dropsMarks = flags & UNICODE_FOLD_DIACRITICS;
  if (dropsMarks || !isCompatible) {
    if (!normalize(nfd, &wide, &count)) return -1;
    if (dropsMarks) count = dropMarks(wide, count);
  }
  if (flags & UNICODE_FOLD_CASE) {
    if (isCompatible && !normalize(compatible, &wide, &count)) return -1;
    if (!isCompatible && !apply(foldCase, NULL, &wide, &count)) return -1;
  }
  if (dropsMarks) {
    if (!normalize(nfd, &wide, &count)) return -1;
    count = dropMarks(wide, count);
  }
  if (!normalize(nfc, &wide, &count)) return -1;
  int32_t bytes = 0;
  status = U_ZERO_ERROR;
  u_strToUTF8(out, capacity, &bytes, wide, count, &status);
  free(wide);
  return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? bytes : -1;
}

int32_t unicode_fold_cut(const char *text, int32_t length, int32_t from) {
  pthread_once(&once, start);
  for (int32_t at = from; at < length;) {
    int32_t next = at;
    UChar32 c;
    U8_NEXT(text, next, length, c);
    // The bytes at `from` may be the rest of a code point, for which U8_NEXT returns -1.
    if (c >= 0 && unorm2_hasBoundaryBefore(compatible, c) && unorm2_hasBoundaryBefore(nfc, c)) {
      return at;
    }
    at = next;
  }
  return length;
}

int32_t unicode_lower(const char *text, int32_t length, char *out, int32_t capacity) {
  pthread_once(&once, start);
  UErrorCode status = U_ZERO_ERROR;
  int32_t size = ucasemap_utf8ToLower(casing, out, capacity, text, length, &status);
  return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? size : -1;
}

int unicode_collate(const char *a, int32_t aLength, const char *b, int32_t bLength) {
  pthread_once(&once, start);
  UErrorCode status = U_ZERO_ERROR;
  return (int)ucol_strcollUTF8(collator, a, aLength, b, bLength, &status);
}

int32_t unicode_sort_key(const char *text, int32_t length, unsigned char *out, int32_t capacity) {
  pthread_once(&once, start);
  if (length == INT32_MAX) return -1;
  UChar stack[256];
  UChar *wide = stack;
  // One code unit for each byte is enough for any UTF-8.
  if (length >= 256 && !(wide = malloc(((size_t)length + 1) * sizeof(UChar)))) return -1;
  UErrorCode status = U_ZERO_ERROR;
  int32_t count = 0;
  u_strFromUTF8WithSub(wide, length >= 256 ? length + 1 : 256, &count, text, length, 0xFFFD, NULL,
                       &status);
  int32_t needed =
    U_FAILURE(status) ? -1 : ucol_getSortKey(collator, wide, count, out, capacity);
  if (wide != stack) free(wide);
  return needed;
}

// MARK: Regular expressions

struct unicode_regex {
  URegularExpression *expression;
  UChar *text;
  int32_t capacity;
  // The interruption that ends a long match; NULL for none.
  struct interruption *interruption;
};

// ICU calls this after some thousand steps of its engine.
static UBool continues(const void *context, int32_t steps) {
  (void)steps;
  const struct unicode_regex *regex = context;
  return !regex->interruption || interruption_reason(regex->interruption) == 0;
}

// Converts UTF-8 to UTF-16 in a growing buffer. Returns the length, or -1 if memory is short.
static int32_t toUTF16(const char *text, int32_t length, UChar **buffer, int32_t *capacity) {
  if (length == INT32_MAX) return -1;
  // One code unit for each byte is enough for any UTF-8.
  if (*capacity < length + 1) {
    UChar *grown = realloc(*buffer, ((size_t)length + 1) * sizeof(UChar));
    if (!grown) return -1;
    *buffer = grown;
    *capacity = length + 1;
  }
  UErrorCode status = U_ZERO_ERROR;
  int32_t count = 0;
  u_strFromUTF8WithSub(*buffer, *capacity, &count, text, length, 0xFFFD, NULL, &status);
  return U_FAILURE(status) ? -1 : count;
}

struct unicode_regex *unicode_regex_open(
  const char *pattern, int32_t length, int ignoresCase, int32_t *errorOffset) {
  *errorOffset = -1;
  struct unicode_regex *regex = calloc(1, sizeof *regex);
  if (!regex) return NULL;
  // ICU rejects an empty pattern, which matches the empty text.
  if (length == 0) {
    pattern = "(?:)";
    length = 4;
  }
  int32_t count = toUTF16(pattern, length, &regex->text, &regex->capacity);
  if (count < 0) {
    unicode_regex_close(regex);
    return NULL;
  }
  UErrorCode status = U_ZERO_ERROR;
  UParseError where = {0};
  regex->expression = uregex_open(
    regex->text, count, ignoresCase ? UREGEX_CASE_INSENSITIVE : 0, &where, &status);
  if (U_SUCCESS(status)) uregex_setMatchCallback(regex->expression, continues, regex, &status);
  if (U_FAILURE(status)) {
    *errorOffset = where.offset < 0 ? 0 : where.offset;
    unicode_regex_close(regex);
    return NULL;
  }
  return regex;
}

int unicode_regex_matches(
  struct unicode_regex *regex, const char *text, int32_t length,
  struct interruption *interruption) {
  int32_t count = toUTF16(text, length, &regex->text, &regex->capacity);
  if (count < 0) return UNICODE_REGEX_FAILED;
  UErrorCode status = U_ZERO_ERROR;
  uregex_setText(regex->expression, regex->text, count, &status);
  regex->interruption = interruption;
  UBool found = uregex_matches(regex->expression, -1, &status);
  regex->interruption = NULL;
  if (status == U_REGEX_STOPPED_BY_CALLER) return UNICODE_REGEX_STOPPED;
  return U_FAILURE(status) ? UNICODE_REGEX_FAILED : found ? 1 : 0;
}

void unicode_regex_close(struct unicode_regex *regex) {
  if (regex->expression) uregex_close(regex->expression);
  free(regex->text);
  free(regex);
}
