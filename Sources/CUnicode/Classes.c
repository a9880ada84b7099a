#include "CUnicode.h"
#include "Marks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>
#include <unicode/utrans.h>

static enum unicode_class classOfScript(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  switch (uscript_getScript(c, &status)) {
  case USCRIPT_HAN: case USCRIPT_HIRAGANA: case USCRIPT_KATAKANA: case USCRIPT_THAI:
  case USCRIPT_LAO: case USCRIPT_KHMER: case USCRIPT_MYANMAR: case USCRIPT_BOPOMOFO:
  case USCRIPT_YI: case USCRIPT_HANGUL:
    return UNICODE_SINGLE;
  default:
    return UNICODE_WORD;
  }
}

static enum unicode_class classOf(UChar32 c) {
  if (c == 0x3099 || c == 0x309A || c == 0xFF9E || c == 0xFF9F) return UNICODE_VOICING;
  // The prolonged sound mark and the iteration marks are letters of no single script.
  if (c == 0x30FC || c == 0xFF70 || c == 0x3005) return UNICODE_SINGLE;
  if ((c >= 0x1100 && c < 0x1160) || (c >= 0xA960 && c < 0xA980)) return UNICODE_JAMO;
  if ((c >= 0x1160 && c <= 0x11FF) || (c >= 0xD7B0 && c <= 0xD7FF)) return UNICODE_JAMO_BEHIND;
  if (c >= 0x1F1E6 && c <= 0x1F1FF) return UNICODE_REGIONAL;
  if (c < 0x80) return u_isalnum(c) ? UNICODE_WORD : UNICODE_SEPARATOR;
  if (u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) return UNICODE_SILENT;
  if (marks_is_silent(c)) return UNICODE_SILENT;
  if (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC)) return UNICODE_PICTOGRAPH;
  uint32_t mask = U_GET_GC_MASK(c);
  if (mask & (U_GC_L_MASK | U_GC_N_MASK | U_GC_M_MASK)) return classOfScript(c);
  return UNICODE_SEPARATOR;
}

static UTransliterator *simplifier;
static pthread_once_t simplifierOnce = PTHREAD_ONCE_INIT;
static pthread_mutex_t simplifying = PTHREAD_MUTEX_INITIALIZER;

static void openSimplifier(void) {
  UErrorCode status = U_ZERO_ERROR;
  simplifier = utrans_openU(
    u"Traditional-Simplified", -1, UTRANS_FORWARD, NULL, 0, NULL, &status);
  if (U_FAILURE(status)) {
    fprintf(stderr, "ICU cannot simplify characters: %s\n", u_errorName(status));
    abort();
  }
}

void unicode_fold_kana(char *text, int32_t length) {
  for (int32_t at = 0; at < length;) {
    UChar32 c;
    int32_t start = at;
    U8_NEXT(text, at, length, c);
    // Both forms have three bytes, and each katakana is 0x60 code points after its hiragana.
    if ((c >= 0x3041 && c <= 0x3096) || c == 0x309D || c == 0x309E) {
      U8_APPEND_UNSAFE(text, start, c + 0x60);
    }
  }
}

// Replaces a traditional character by its simplified form.
static void simplify(struct unicode_folded *entry) {
  UErrorCode status = U_ZERO_ERROR;
  UChar32 c;
  int32_t at = 0;
  U8_NEXT(entry->bytes, at, entry->length, c);
  if (at != entry->length || uscript_getScript(c, &status) != USCRIPT_HAN) return;
  pthread_once(&simplifierOnce, openSimplifier);
  UChar units[8];
  int32_t length = 0;
  U16_APPEND_UNSAFE(units, length, c);
  int32_t limit = length;
  pthread_mutex_lock(&simplifying);
  utrans_transUChars(simplifier, units, &length, 8, 0, &limit, &status);
  pthread_mutex_unlock(&simplifying);
  if (U_FAILURE(status) || length == 0) return;
  UChar32 simple;
  int32_t next = 0;
  U16_NEXT(units, next, length, simple);
  if (next != length) return;
  int32_t size = 0;
  U8_APPEND_UNSAFE(entry->bytes, size, simple);
  entry->length = (uint8_t)size;
}

static enum unicode_case caseOf(UChar32 c) {
  if (u_isdigit(c)) return UNICODE_DIGIT;
  if (u_isUUppercase(c) || u_istitle(c)) return UNICODE_UPPER;
  return u_isULowercase(c) ? UNICODE_LOWER : UNICODE_UNCASED;
}

// Returns whether a folded text has a sign that separates words, like the folded U+2474 and U+00BD.
static bool hasSeparator(const char *text, int32_t length) {
  for (int32_t at = 0; at < length;) {
    UChar32 c;
    U8_NEXT(text, at, length, c);
    if (classOf(c) == UNICODE_SEPARATOR) return true;
  }
  return false;
}

// Returns whether a folded text has a letter or a digit.
static bool hasWord(const char *text, int32_t length) {
  for (int32_t at = 0; at < length;) {
    UChar32 c;
    U8_NEXT(text, at, length, c);
    if (u_isalnum(c)) return true;
  }
  return false;
}

// Returns the class of a separator of words. `entry` receives the folded form of a symbol. U+00A8
// and other symbols whose folded form has a space keep their own code point.
static enum unicode_class describeSeparator(UChar32 c, struct unicode_folded *entry) {
  uint32_t mask = U_GET_GC_MASK(c);
  // U+FFFD stands for bytes that are no text.
  if (c == 0xFFFD) return UNICODE_SEPARATOR;
  // The fraction slash joins the digits of a fraction, which also has a code point of its own.
  bool isSymbol = c != 0x2044 && (mask & U_GC_SC_MASK || (c >= 0x80 && mask & U_GC_S_MASK));
  if (!isSymbol) {
    return mask & (U_GC_P_MASK | U_GC_S_MASK) ? UNICODE_PUNCTUATION : UNICODE_SEPARATOR;
  }
  char text[U8_MAX_LENGTH];
  int32_t length = 0;
  U8_APPEND_UNSAFE(text, length, c);
  int32_t folded = unicode_fold(
    text, length, UNICODE_FOLD_WIDELY, entry->bytes, sizeof entry->bytes);
  bool isWhole = folded > 0 && folded <= (int32_t)sizeof entry->bytes;
  for (int32_t at = 0; isWhole && at < folded;) {
    UChar32 other;
    U8_NEXT(entry->bytes, at, folded, other);
    if (u_isUWhiteSpace(other) || other == '"') isWhole = false;
  }
  if (!isWhole) memcpy(entry->bytes, text, (size_t)length);
  entry->length = (uint8_t)(isWhole ? folded : length);
  return UNICODE_SYMBOL;
}

static void describe(UChar32 c, struct unicode_folded *entry) {
  memset(entry, 0, sizeof *entry);
  enum unicode_class class = classOf(c);
  if (class == UNICODE_SEPARATOR && c >= 0x80) {
    char text[U8_MAX_LENGTH];
    int32_t length = 0;
    U8_APPEND_UNSAFE(text, length, c);
    int32_t folded = unicode_fold(
      text, length, UNICODE_FOLD_WIDELY, entry->bytes, sizeof entry->bytes);
    if (folded > 0 && folded <= (int32_t)sizeof entry->bytes) {
      // A sign like U+3231 is folded to a word in parentheses.
      UChar32 first;
      int32_t at = 0;
      U8_NEXT(entry->bytes, at, folded, first);
      if (first != c && hasWord(entry->bytes, folded)) {
        entry->length = (uint8_t)folded;
        class = UNICODE_EXPANDED;
      }
    }
  }
  if (class == UNICODE_WORD || class == UNICODE_SINGLE || class == UNICODE_PICTOGRAPH
      || class == UNICODE_REGIONAL || class == UNICODE_JAMO || class == UNICODE_JAMO_BEHIND) {
    char text[U8_MAX_LENGTH];
    int32_t length = 0;
    U8_APPEND_UNSAFE(text, length, c);
    // Kana keep their voicing marks, which form another letter and are not accents.
    int flags = UNICODE_FOLD_WIDELY | (class == UNICODE_WORD ? UNICODE_FOLD_DIACRITICS : 0);
    int32_t folded = unicode_fold(text, length, flags, entry->bytes, sizeof entry->bytes);
    if (folded < 0 || folded > (int32_t)sizeof entry->bytes) {
      // U+FDFA and U+FDFB are folded to several words.
      char form[UNICODE_EXPANDED_MAX];
      folded = unicode_fold(text, length, flags, form, sizeof form);
      bool isExpanded = folded > 0 && folded <= (int32_t)sizeof form && hasSeparator(form, folded);
      class = isExpanded ? UNICODE_EXPANDED : UNICODE_CONTEXT;
    } else {
      entry->length = (uint8_t)folded;
      if (folded == 0) class = UNICODE_SILENT;
      if (hasSeparator(entry->bytes, folded)) class = UNICODE_EXPANDED;
    }
  }
  if (class == UNICODE_SINGLE) {
    unicode_fold_kana(entry->bytes, entry->length);
    simplify(entry);
  }
  if (class == UNICODE_SEPARATOR) class = describeSeparator(c, entry);
  if (class == UNICODE_EXPANDED && entry->length > 0
      && !hasWord(entry->bytes, entry->length)) {
    // A letter like U+FC60 is folded to a space and marks.
    entry->length = 0;
    U8_APPEND_UNSAFE(entry->bytes, entry->length, c);
    class = UNICODE_SYMBOL;
  }
  if (class == UNICODE_WORD) entry->letterCase = (uint8_t)caseOf(c);
  entry->class = (uint8_t)class;
}

// The entries of the code points, in pages of 256, which are created at the first look-up. If two
// threads create the same page, only one copy is kept.
static _Atomic(struct unicode_folded *) pages[0x110000 >> 8];

const struct unicode_folded *unicode_look_up(int32_t codePoint) {
  if (codePoint < 0 || codePoint > 0x10FFFF) codePoint = 0xFFFD;
  int32_t number = codePoint >> 8;
  struct unicode_folded *page = atomic_load_explicit(&pages[number], memory_order_acquire);
  if (!page) {
    struct unicode_folded *made = malloc(256 * sizeof *made);
    if (!made) abort();
    for (int32_t i = 0; i < 256; i++) describe((number << 8) + i, &made[i]);
    struct unicode_folded *expected = NULL;
    if (atomic_compare_exchange_strong(&pages[number], &expected, made)) {
      page = made;
    } else {
      free(made);
      page = expected;
    }
  }
  return &page[codePoint & 255];
}
