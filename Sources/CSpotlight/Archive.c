#include <math.h>

#include "CSpotlight.h"

static bool readLongNumber(struct spotlight_archive *archive, uint64_t *number) {
  *number = 0;
  for (int shift = 0; shift < 64 && archive->at < archive->size; shift += 7) {
    uint8_t byte = archive->bytes[archive->at++];
    *number |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Reads a number with seven bits in each byte, the lowest bits first. Returns false at the end of
// the bytes, and for a number that is too long.
static inline bool readNumber(struct spotlight_archive *archive, uint64_t *number) {
  // Most numbers have one byte.
  if (archive->at < archive->size && archive->bytes[archive->at] < 0x80) {
    *number = archive->bytes[archive->at++];
    return true;
  }
  return readLongNumber(archive, number);
}

static bool readBoost(struct spotlight_archive *archive, double *boost) {
  *boost = NAN;
  if (archive->at >= archive->size) return false;
  if (archive->bytes[archive->at++] != 1) return true;
  if (archive->size - archive->at < 8) return false;
  uint64_t bits = 0;
  for (int place = 0; place < 8; place++) {
    bits |= (uint64_t)archive->bytes[archive->at++] << (8 * place);
  }
  __builtin_memcpy(boost, &bits, sizeof bits);
  return true;
}

bool spotlight_archive_next(struct spotlight_archive *archive) {
  uint64_t step;
  if (!readNumber(archive, &step)) return false;
  if (archive->numbersEnd <= archive->number) return false;
  if (step == 0 || step >= (uint64_t)(archive->numbersEnd - archive->number)) return false;
  archive->number += (int64_t)step;
  return true;
}

bool spotlight_archive_read(
  struct spotlight_archive *archive, struct spotlight_document *documents, double *boosts,
  uint64_t *alive
) {
  const int64_t chunk = archive->number >> SPOTLIGHT_CHUNK_BITS;
  while (archive->left > 0 && archive->number >> SPOTLIGHT_CHUNK_BITS == chunk) {
    uint64_t entity, difference, length, titleLength;
    if (!readNumber(archive, &entity) || !readNumber(archive, &difference)) return false;
    if (!readNumber(archive, &length) || !readNumber(archive, &titleLength)) return false;
    if (entity > UINT16_MAX || length > UINT32_MAX || titleLength > UINT16_MAX) return false;
    if (entity >= (uint64_t)archive->entityCount || !archive->indexed[entity]) return false;
    archive->object += (difference >> 1) ^ -(difference & 1);
    int64_t place = archive->number & ((1 << SPOTLIGHT_CHUNK_BITS) - 1);
    // Two parts of a damaged archive may have the same number.
    if (alive[place / 64] >> (place % 64) & 1) return false;
    documents[place] = (struct spotlight_document){
      .object = (int64_t)archive->object,
      .length = (uint32_t)length,
      .entity = (uint16_t)entity,
      .titleLength = (uint16_t)titleLength,
    };
    for (int32_t boost = 0; boost < archive->boostCount; boost++) {
      if (!readBoost(archive, &boosts[place * archive->boostCount + boost])) return false;
    }
    alive[place / 64] |= (uint64_t)1 << (place % 64);
    archive->tokens += (int64_t)length;
    archive->left--;
    if (archive->left > 0 && !spotlight_archive_next(archive)) return false;
  }
  return true;
}
