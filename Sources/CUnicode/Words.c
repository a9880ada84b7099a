#include "CUnicode.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

// The iterator of which each call uses a copy: making a copy is much faster than opening one.
static UBreakIterator *words;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void openWords(void) {
  UErrorCode status = U_ZERO_ERROR;
  words = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
  if (U_FAILURE(status)) {
    fprintf(stderr, "ICU cannot find words: %s\n", u_errorName(status));
    abort();
  }
}

static int isHangul(UChar32 c) {
  return (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x1100 && c <= 0x11FF);
}

void unicode_word_starts(const char *text, int32_t length, uint8_t *starts) {
  int32_t at = 0;
  while (at < length) {
    UChar32 c;
    int32_t next = at;
    U8_NEXT(text, next, length, c);
    if (!isHangul(c)) break;
    at = next;
  }
  if (at == length) {
    if (length > 0) starts[0] |= 1;
    return;
  }
  pthread_once(&once, openWords);
  UErrorCode status = U_ZERO_ERROR;
  UText source = UTEXT_INITIALIZER;
  utext_openUTF8(&source, text, length, &status);
  UBreakIterator *copy = ubrk_clone(words, &status);
  ubrk_setUText(copy, &source, &status);
  if (U_FAILURE(status)) {
    // The texts of an index have to give the same words each time.
    fprintf(stderr, "ICU cannot find words: %s\n", u_errorName(status));
    abort();
  }
  int32_t place = 0;
  at = 0;
  for (int32_t start = ubrk_first(copy); start >= 0 && start < length; start = ubrk_next(copy)) {
    for (; at < start; place++) U8_FWD_1(text, at, length);
    starts[place >> 3] |= (uint8_t)(1 << (place & 7));
  }
  ubrk_close(copy);
  utext_close(&source);
}
