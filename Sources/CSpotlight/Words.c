#include "Words.h"

#include <stdlib.h>
#include <string.h>

enum {
  // The number of slots for the hashes of collected words; a power of two.
  SLOT_COUNT = 1 << 15,
};

struct spotlight_words {
  // The hashes of collected words. A word whose hash was displaced is collected again.
  uint64_t known[SLOT_COUNT];
  // The new words, each followed by SPOTLIGHT_TOKEN_END.
  char *bytes;
  int32_t size, capacity;
  // The number of tokens since the count was last taken.
  int64_t tokenCount;
};

struct spotlight_words *spotlight_words_create(void) {
  return calloc(1, sizeof(struct spotlight_words));
}

void spotlight_words_free(struct spotlight_words *words) {
  if (words) free(words->bytes);
  free(words);
}

void spotlight_words_forget(struct spotlight_words *words) {
  memset(words->known, 0, sizeof(words->known));
  words->size = 0;
}

const char *spotlight_words_take(struct spotlight_words *words, int32_t *size) {
  *size = words->size;
  words->size = 0;
  return words->bytes;
}

int64_t spotlight_words_take_count(struct spotlight_words *words) {
  int64_t count = words->tokenCount;
  words->tokenCount = 0;
  return count;
}

void words_count(struct spotlight_words *words, int64_t count) {
  words->tokenCount += count;
}

// Returns eight bytes without a function call, which would take longer than most words.
static inline uint64_t read8(const char *bytes) {
  uint64_t chunk;
  memcpy(&chunk, bytes, 8);
  return chunk;
}

// Returns a number that depends on each of one to seven bytes.
static inline uint64_t readShort(const char *bytes, int32_t size) {
  if (size >= 4) {
    uint32_t first, last;
    memcpy(&first, bytes, 4);
    memcpy(&last, bytes + size - 4, 4);
    return (uint64_t)first << 32 | last;
  }
  return (uint64_t)(unsigned char)bytes[0] << 16
    | (uint64_t)(unsigned char)bytes[size / 2] << 8 | (unsigned char)bytes[size - 1];
}

static inline uint64_t mix(uint64_t hash, uint64_t chunk) {
  hash = (hash ^ chunk) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

static uint64_t hash(const char *bytes, int32_t size) {
  // The length is mixed in first: next to a short chunk, it could cancel out the last letters.
  uint64_t hash = mix(0, (uint64_t)size);
  for (; size >= 8; size -= 8, bytes += 8) hash = mix(hash, read8(bytes));
  if (size > 0) hash = mix(hash, readShort(bytes, size));
  // Zero is an empty slot.
  return hash | 1;
}

// Returns whether searches allow no typing mistakes of a word: it has a digit, or too few or too
// many code points.
static bool isExact(const char *word, int32_t size) {
  int32_t count = 0;
  for (int32_t at = 0; at < size; at++) {
    unsigned char byte = (unsigned char)word[at];
    if (byte >= '0' && byte <= '9') return true;
    if ((byte & 0xC0) != 0x80) count++;
  }
  return count < 2 || count > SPOTLIGHT_WORD_LETTERS_MAX;
}

// Returns whether a token is a letter of a script without spaces at the beginning of a word.
static bool isMarked(const char *token, int32_t size) {
  return size > 1 && token[0] == SPOTLIGHT_START_MARK && spotlight_is_single(token + 1, size - 1);
}

bool spotlight_is_collected(const char *word, int32_t size) {
  if (size <= 0 || size > 4 * SPOTLIGHT_WORD_LETTERS_MAX || isMarked(word, size)) return false;
  return !isExact(word, size) || spotlight_is_single(word, size);
}

int words_collect(struct spotlight_words *words, const char *word, int32_t size) {
  if (size > 4 * SPOTLIGHT_WORD_LETTERS_MAX) return SQLITE_OK;
  if (isMarked(word, size)) {
    // The beginning of a word in a script without spaces is collected as the letter alone.
    word++;
    size--;
  }
  uint64_t mark = hash(word, size);
  uint64_t *slot = &words->known[(mark >> 1) % SLOT_COUNT];
  if (*slot == mark) return SQLITE_OK;
  *slot = mark;
  if (!spotlight_is_collected(word, size)) return SQLITE_OK;
  if (words->capacity - words->size <= size) {
    int64_t capacity = 2 * (int64_t)words->capacity + size + 1024;
    if (capacity > INT32_MAX) return SQLITE_TOOBIG;
    char *bytes = realloc(words->bytes, (size_t)capacity);
    if (!bytes) return SQLITE_NOMEM;
    words->bytes = bytes;
    words->capacity = (int32_t)capacity;
  }
  memcpy(words->bytes + words->size, word, (size_t)size);
  words->size += size;
  words->bytes[words->size++] = SPOTLIGHT_TOKEN_END;
  return SQLITE_OK;
}
