#include "Cutter.h"

#include <CUnicode.h>
#include <string.h>
#include <unicode/utf8.h>

enum {
  // The maximum number of code points of a token of punctuation; further ones are left out.
  SIGNS_MAX = 8,
  // The maximum length of a symbol with the marks on it.
  SYMBOL_BYTES_MAX = 64,
};

static const struct unicode_folded *lookUp(const struct cutter *cutter, int32_t *at) {
  UChar32 c;
  U8_NEXT(cutter->text, *at, cutter->length, c);
  return c < 0 ? NULL : unicode_look_up(c);
}

// Returns whether the code point before or at an offset is a space, a quotation mark of a query or
// no text at all, so that punctuation next to it is on its own.
static bool isApart(const struct unicode_folded *folded, char byte) {
  if (!folded || folded->class == UNICODE_SEPARATOR) return true;
  return byte == '"';
}

static bool isApartBefore(const struct cutter *cutter, int32_t at) {
  if (at == 0) return true;
  UChar32 c;
  U8_PREV(cutter->text, 0, at, c);
  return c < 0 || isApart(unicode_look_up(c), cutter->text[at]);
}

static bool isApartAt(const struct cutter *cutter, int32_t at) {
  if (at >= cutter->length) return true;
  int32_t next = at;
  return isApart(lookUp(cutter, &next), cutter->text[at]);
}

int cutter_flush_symbols(struct cutter *cutter) {
  for (int32_t index = 0; index < cutter->symbolCount; index++) {
    const struct symbol *symbol = &cutter->symbols[index];
    bool isColocated = cutter->hasToken;
    cutter->hasToken = true;
    int result = cutter->take(
      cutter->context, cutter->symbolBytes + symbol->from, symbol->size, symbol->start,
      symbol->end, isColocated);
    if (result != 0) return result;
  }
  return 0;
}

// Returns whether the present position has a symbol already. FTS5 would store it twice.
static bool hasSymbol(const struct cutter *cutter, const char *token, int32_t size) {
  for (int32_t index = 0; index < cutter->symbolCount; index++) {
    const struct symbol *symbol = &cutter->symbols[index];
    const char *known = cutter->symbolBytes + symbol->from;
    if (symbol->size == size && memcmp(known, token, (size_t)size) == 0) return true;
  }
  return false;
}

// Emits a symbol at the position of the word before it, or of the first word.
static int emit(
  struct cutter *cutter, const char *token, int32_t size, int32_t start, int32_t end
) {
  if (cutter->flags & SPOTLIGHT_QUERY) {
    return cutter->take(cutter->context, token, size, start, end, true);
  }
  if (hasSymbol(cutter, token, size)) return 0;
  bool isFull = cutter->symbolCount == SYMBOLS_MAX
    || cutter->symbolSize + size > SYMBOLS_BYTES_MAX;
  if (isFull) {
    int result = cutter->hasToken ? 0 : cutter_flush_symbols(cutter);
    if (result != 0) return result;
    cutter->symbolCount = cutter->symbolSize = 0;
  }
  memcpy(cutter->symbolBytes + cutter->symbolSize, token, (size_t)size);
  cutter->symbols[cutter->symbolCount++] =
    (struct symbol){cutter->symbolSize, size, start, end};
  cutter->symbolSize += size;
  if (!cutter->hasToken) return 0;
  return cutter->take(cutter->context, token, size, start, end, !isFull);
}

// Moves an offset past the marks on a symbol, such as the stroke of a negated sign.
static int32_t behindMarks(const struct cutter *cutter, int32_t start, int32_t at) {
  while (at < cutter->length && at - start < SYMBOL_BYTES_MAX / 4) {
    int32_t next = at;
    const struct unicode_folded *folded = lookUp(cutter, &next);
    if (!folded || folded->class != UNICODE_SILENT) break;
    at = next;
  }
  return at;
}

// Emits the folded form of the text before `behind`; the text itself where the form has a space or
// a quotation mark, which no token has.
static int emitFolded(struct cutter *cutter, int32_t start, int32_t behind, int32_t end) {
  char token[SYMBOL_BYTES_MAX];
  int32_t size = cutter_fold(cutter, start, behind, UNICODE_FOLD_WIDELY, token, SYMBOL_BYTES_MAX);
  if (size < 0) return SQLITE_NOMEM;
  for (int32_t at = 0; at < size;) {
    UChar32 c;
    U8_NEXT(token, at, size, c);
    if (c != '"' && (c < 0 || unicode_look_up(c)->class != UNICODE_SEPARATOR)) continue;
    size = behind - start;
    memcpy(token, cutter->text + start, (size_t)size);
    break;
  }
  return size > 0 ? emit(cutter, token, size, start, end) : 0;
}

// Emits punctuation that is on its own, up to the next space.
static int emitPunctuation(struct cutter *cutter, int32_t *at) {
  int32_t start = *at, end = *at, count = 0, behind = *at;
  while (end < cutter->length) {
    int32_t next = end;
    const struct unicode_folded *folded = lookUp(cutter, &next);
    if (!folded || folded->class != UNICODE_PUNCTUATION || cutter->text[end] == '"') break;
    end = next;
    if (++count <= SIGNS_MAX) behind = end;
  }
  *at = end;
  if (!isApartAt(cutter, end)) return 0;
  return emitFolded(cutter, start, behind, end);
}

int cutter_symbol(struct cutter *cutter, int32_t *at) {
  int32_t start = *at, next = *at;
  const struct unicode_folded *folded = lookUp(cutter, &next);
  bool isSign = folded && cutter->text[start] != '"'
    && (folded->class == UNICODE_SYMBOL || folded->class == UNICODE_PUNCTUATION);
  if (!isSign || cutter->flags & CUTTER_WORDS_ONLY) {
    *at = next;
    return 0;
  }
  int32_t behind = behindMarks(cutter, start, next);
  if (behind > next) {
    *at = behind;
    return emitFolded(cutter, start, behind, behind);
  }
  if (folded->class == UNICODE_SYMBOL) {
    *at = next;
    return emit(cutter, folded->bytes, folded->length, start, next);
  }
  if (isApartBefore(cutter, start)) return emitPunctuation(cutter, at);
  *at = next;
  return 0;
}

bool spotlight_is_punctuation(const char *token, int32_t length) {
  for (int32_t at = 0; at < length;) {
    UChar32 c;
    U8_NEXT(token, at, length, c);
    if (c < 0 || unicode_look_up(c)->class != UNICODE_PUNCTUATION) return false;
  }
  return length > 0;
}
