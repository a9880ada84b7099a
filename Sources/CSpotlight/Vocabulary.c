// memmem is an extension of the C library.
#define _GNU_SOURCE

#include "CSpotlight.h"

#include <stdlib.h>
#include <string.h>

static uint32_t startOf(const struct spotlight_vocabulary *words, int64_t index) {
  return index == 0 ? 0 : words->ends[index - 1];
}

// MARK: Blocks

// The count of successive words that share a bit in each bitmap.
enum { BLOCK = 128 };

int64_t spotlight_bitmap_size(int64_t count) {
  return (count + BLOCK * 64 - 1) / (BLOCK * 64);
}

static uint32_t hashOf(const char *three) {
  const unsigned char *bytes = (const unsigned char *)three;
  uint32_t joined = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
  // The upper bits of the product depend on all bytes.
  return (joined * 2654435761u) >> 20;
}

_Static_assert(SPOTLIGHT_TRIPLES_MAX == 1 << 12, "a hash has 12 bits");

void spotlight_describe_words(
  const char *bytes, const uint32_t *ends, int64_t count, uint16_t *shared, uint64_t *triples
) {
  int64_t size = spotlight_bitmap_size(count);
  const char *former = bytes;
  uint32_t formerSize = 0, start = 0;
  for (int64_t index = 0; index < count; index++) {
    const char *word = bytes + start;
    uint32_t wordSize = ends[index] - start, most = wordSize < formerSize ? wordSize : formerSize;
    uint32_t same = 0;
    while (same < most && same < UINT16_MAX && former[same] == word[same]) same++;
    shared[index] = (uint16_t)same;
    int64_t block = index / BLOCK;
    for (uint32_t at = 0; at + 3 <= wordSize; at++) {
      triples[hashOf(word + at) * size + block / 64] |= (uint64_t)1 << (block % 64);
    }
    former = word;
    formerSize = wordSize;
    start = ends[index];
  }
}

// MARK: Parts

struct part {
  uint32_t size;
  int64_t index;
};

static int compareParts(const void *a, const void *b) {
  const struct part *first = a, *second = b;
  if (first->size != second->size) return first->size < second->size ? -1 : 1;
  return first->index < second->index ? -1 : first->index > second->index;
}

// Adds the words of one block that contain a part after their first letter.
static void takeParts(
  const struct spotlight_vocabulary *words, int64_t block, const char *part, uint32_t size,
  struct part *parts, int64_t *count
) {
  int64_t index = block * BLOCK, last = index + BLOCK < words->count ? index + BLOCK : words->count;
  const char *bytes = words->bytes, *end = bytes + words->ends[last - 1];
  const char *at = bytes + startOf(words, index);
  while (at < end && (at = memmem(at, (size_t)(end - at), part, size))) {
    uint32_t offset = (uint32_t)(at - bytes);
    while (words->ends[index] <= offset) index++;
    if (offset == startOf(words, index) || offset + size > words->ends[index]) {
      // The part begins the word, or would continue in the next word.
      at++;
      continue;
    }
    parts[(*count)++] = (struct part){words->ends[index] - startOf(words, index), index};
    at = bytes + words->ends[index];
  }
}

int64_t spotlight_words_containing(
  const struct spotlight_vocabulary *words, const char *part, int32_t size, int64_t *found,
  int64_t foundMax
) {
  if (size <= 0 || words->count == 0 || foundMax < words->count) return 0;
  struct part *parts = malloc((size_t)foundMax * sizeof *parts);
  if (!parts) return 0;
  int64_t count = 0, bitmapSize = spotlight_bitmap_size(words->count);
  int64_t blockCount = (words->count + BLOCK - 1) / BLOCK;
  for (int64_t element = 0; element < bitmapSize; element++) {
    uint64_t blocks = ~(uint64_t)0;
    for (int32_t at = 0; at + 3 <= size && blocks; at++) {
      blocks &= words->triples[hashOf(part + at) * bitmapSize + element];
    }
    for (; blocks; blocks &= blocks - 1) {
      int64_t block = element * 64 + __builtin_ctzll(blocks);
      if (block >= blockCount) break;
      takeParts(words, block, part, (uint32_t)size, parts, &count);
    }
  }
  qsort(parts, (size_t)count, sizeof *parts, compareParts);
  for (int64_t index = 0; index < count; index++) found[index] = parts[index].index;
  free(parts);
  return count;
}

// MARK: Typing mistakes

enum {
  MISTAKES_MAX = 2,
  // The cost of a beginning that has too many mistakes.
  FAR = MISTAKES_MAX + 1,
  DEPTH_MAX = SPOTLIGHT_WORD_LETTERS_MAX + MISTAKES_MAX,
};

// The costs between each beginning of the typed word and each beginning of a listed word.
struct costs {
  const uint32_t *letters;
  int32_t letterCount, mistakesMax, depthMax;
  // The costs of the beginnings of the typed word, for each number of letters of the listed word.
  // Beginnings whose lengths differ by more than `mistakesMax` are FAR.
  uint8_t rows[DEPTH_MAX + 1][SPOTLIGHT_WORD_LETTERS_MAX + 1];
  // The lowest cost of each row.
  uint8_t least[DEPTH_MAX + 1];
  // The letters of the listed word that were compared, and the offset after each of them.
  uint32_t path[DEPTH_MAX];
  int32_t ends[DEPTH_MAX];
  int32_t depth;
};

static uint8_t atMost(int32_t cost) { return cost > FAR ? FAR : (uint8_t)cost; }

// Compares the next letter of the listed word.
static void advance(struct costs *costs, uint32_t letter, int32_t end) {
  int32_t depth = costs->depth, count = costs->letterCount;
  const uint8_t *last = costs->rows[depth];
  uint8_t *row = costs->rows[depth + 1];
  int32_t from = depth + 1 - costs->mistakesMax, to = depth + 1 + costs->mistakesMax;
  if (from < 1) from = 1;
  if (to > count) to = count;
  // The neighbours of the band are read by the next row.
  row[from - 1] = from == 1 ? atMost(depth + 1) : FAR;
  uint8_t least = row[from - 1];
  for (int32_t index = from; index <= to; index++) {
    bool isEqual = costs->letters[index - 1] == letter;
    int32_t cost = last[index - 1] + (isEqual ? 0 : 1);
    if (last[index] + 1 < cost) cost = last[index] + 1;
    if (row[index - 1] + 1 < cost) cost = row[index - 1] + 1;
    if (index > 1 && depth > 0 && costs->letters[index - 2] == letter
        && costs->letters[index - 1] == costs->path[depth - 1]
        && costs->rows[depth - 1][index - 2] + 1 < cost) {
      cost = costs->rows[depth - 1][index - 2] + 1;
    }
    row[index] = atMost(cost);
    if (row[index] < least) least = row[index];
  }
  for (int32_t index = to + 1; index <= count && index <= to + 2; index++) row[index] = FAR;
  costs->path[depth] = letter;
  costs->ends[depth] = end;
  costs->least[depth + 1] = least;
  costs->depth = depth + 1;
}

static int32_t totalCost(const struct costs *costs) {
  int32_t apart = costs->depth - costs->letterCount;
  if (apart > costs->mistakesMax || -apart > costs->mistakesMax) return FAR;
  return costs->rows[costs->depth][costs->letterCount];
}

// Returns the lowest cost that a longer beginning of the listed word can have. An exchange of two
// letters adds to the cost of the beginning before these letters.
static int32_t leastPossible(const struct costs *costs) {
  int32_t least = costs->least[costs->depth];
  if (costs->depth > 0 && costs->least[costs->depth - 1] + 1 < least) {
    least = costs->least[costs->depth - 1] + 1;
  }
  return least;
}

// Returns the index after the words that begin with the same bytes as a word.
static int64_t behind(const struct spotlight_vocabulary *words, int64_t index, int32_t size) {
  enum { STEP = 16 };
  const uint16_t *shared = words->shared;
  index++;
  // The inner loop has no exit, so that the compiler makes it a few vector instructions.
  for (; index + STEP <= words->count; index += STEP) {
    int others = 0;
    for (int step = 0; step < STEP; step++) others |= shared[index + step] < size;
    if (others) break;
  }
  while (index < words->count && shared[index] >= size) index++;
  return index;
}

// Reads the letter at an offset of a word, and moves the offset past it.
static uint32_t readLetter(const char *word, int32_t size, int32_t *at) {
  unsigned char lead = (unsigned char)word[*at];
  int32_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t letter = length == 1 ? lead : lead & (0x7Fu >> length);
  int32_t end = *at + length < size ? *at + length : size;
  for (int32_t next = *at + 1; next < end; next++) {
    letter = letter << 6 | ((unsigned char)word[next] & 0x3F);
  }
  *at = end;
  return letter;
}

void spotlight_near_words(
  const struct spotlight_vocabulary *words, const uint32_t *letters, int32_t letterCount,
  int32_t mistakesMax, bool isPrefix, void *context, spotlight_near take
) {
  if (mistakesMax <= 0 || mistakesMax > MISTAKES_MAX || letterCount <= 0
      || letterCount > SPOTLIGHT_WORD_LETTERS_MAX) {
    return;
  }
  struct costs costs = {
    .letters = letters, .letterCount = letterCount, .mistakesMax = mistakesMax,
    .depthMax = letterCount + mistakesMax,
  };
  for (int32_t index = 0; index <= letterCount; index++) costs.rows[0][index] = atMost(index);
  for (int64_t index = 0; index < words->count;) {
    const char *word = words->bytes + startOf(words, index);
    int32_t size = (int32_t)(words->ends[index] - startOf(words, index));
    // The costs of the beginning that the word shares with the former word are known: all words
    // between them share more with the former word.
    while (costs.depth > 0 && costs.ends[costs.depth - 1] > words->shared[index]) costs.depth--;
    for (;;) {
      int32_t offset = costs.depth > 0 ? costs.ends[costs.depth - 1] : 0;
      int32_t total = totalCost(&costs);
      if (isPrefix && costs.depth > 0 && total <= mistakesMax) {
        take(context, index, offset, total);
        index = behind(words, index, offset);
        break;
      }
      if (leastPossible(&costs) > mistakesMax) {
        index = behind(words, index, offset);
        break;
      }
      if (offset == size) {
        if (!isPrefix && total > 0 && total <= mistakesMax) take(context, index, size, total);
        index++;
        break;
      }
      if (costs.depth == costs.depthMax) {
        index = behind(words, index, offset);
        break;
      }
      uint32_t letter = readLetter(word, size, &offset);
      advance(&costs, letter, offset);
    }
  }
}
