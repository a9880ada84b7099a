#include "CUnicode.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/ustring.h>
#include <unicode/utrans.h>

struct unicode_transliterator {
  UTransliterator *transliterator;
};

struct unicode_transliterator *unicode_transliterator_open(const char *name) {
  UChar wide[128];
  UErrorCode status = U_ZERO_ERROR;
  int32_t length = (int32_t)strlen(name);
  if (length >= 128) return NULL;
  u_charsToUChars(name, wide, length + 1);
  struct unicode_transliterator *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->transliterator = utrans_openU(wide, length, UTRANS_FORWARD, NULL, 0, NULL, &status);
  if (U_SUCCESS(status)) return made;
  free(made);
  return NULL;
}

int32_t unicode_transliterate(
  struct unicode_transliterator *transliterator, const char *text, int32_t length, char *out,
  int32_t capacity
) {
  // One code unit for each byte is enough for any UTF-8, and a reading has only a few letters for
  // each code unit.
  int32_t count = 0, bytes = 0;
  // ICU's lengths have 32 bits, so the capacity for a very long text is INT32_MAX.
  int32_t wideCapacity = length > (INT32_MAX - 64) / 8 ? INT32_MAX : 8 * length + 64;
  UChar *wide = malloc((size_t)wideCapacity * sizeof(UChar));
  if (!wide) return -1;
  UErrorCode status = U_ZERO_ERROR;
  u_strFromUTF8WithSub(wide, wideCapacity, &count, text, length, 0xFFFD, NULL, &status);
  int32_t limit = count;
  utrans_transUChars(
    transliterator->transliterator, wide, &count, wideCapacity, 0, &limit, &status);
  if (U_FAILURE(status)) {
    free(wide);
    return -1;
  }
  u_strToUTF8(out, capacity, &bytes, wide, count, &status);
  free(wide);
  return U_SUCCESS(status) || status == U_BUFFER_OVERFLOW_ERROR ? bytes : -1;
}

void unicode_transliterator_close(struct unicode_transliterator *transliterator) {
  if (!transliterator) return;
  utrans_close(transliterator->transliterator);
  free(transliterator);
}
