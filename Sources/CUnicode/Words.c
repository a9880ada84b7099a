#include "CUnicode.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

// The iterator of each thread, which is closed at the thread's end.
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Ends the process, because the index must always find the same words in a text.
static void fail(const char *reason) {
  fprintf(stderr, "ICU cannot find words: %s\n", reason);
  abort();
}

static void closeWords(void *words) { ubrk_close(words); }

static void makeKey(void) {
  if (pthread_key_create(&key, closeWords) != 0) fail("there is no key for a thread");
}

static UBreakIterator *iterator(void) {
  pthread_once(&once, makeKey);
  UBreakIterator *words = pthread_getspecific(key);
  if (words) return words;
  UErrorCode status = U_ZERO_ERROR;
  words = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
  if (U_FAILURE(status)) fail(u_errorName(status));
  if (pthread_setspecific(key, words) != 0) fail("there is no memory");
  return words;
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
  UBreakIterator *words = iterator();
  UErrorCode status = U_ZERO_ERROR;
  UText source = UTEXT_INITIALIZER;
  utext_openUTF8(&source, text, length, &status);
  ubrk_setUText(words, &source, &status);
  if (U_FAILURE(status)) fail(u_errorName(status));
  int32_t place = 0;
  at = 0;
  for (int32_t start = ubrk_first(words); start >= 0 && start < length; start = ubrk_next(words)) {
    for (; at < start; place++) U8_FWD_1(text, at, length);
    starts[place >> 3] |= (uint8_t)(1 << (place & 7));
  }
  utext_close(&source);
}
