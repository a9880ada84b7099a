#ifndef HITS_H
#define HITS_H

#include "CSpotlight.h"

/// Returns the index of a document in its chunk.
static inline int64_t placeInChunk(int64_t document) {
  return document & ((1 << SPOTLIGHT_CHUNK_BITS) - 1);
}

/// Returns the data of a document.
static inline const struct spotlight_document *documentAt(
  const struct spotlight_search *search, int64_t document
) {
  return &search->documents[document >> SPOTLIGHT_CHUNK_BITS][placeInChunk(document)];
}

/// Returns whether the first hit ranks after the second: by mistakes, by a lower score, then by a
/// greater ID.
bool hits_is_worse(
  const struct spotlight_search *search, struct spotlight_hit a, struct spotlight_hit b);

/// Returns whether the score of a document without mistakes is too low for the best hits.
static inline bool hits_refuses(const struct spotlight_search *search, double score) {
  return search->hitCount == search->hitMax
    && (search->hitMax == 0 || (!search->hits[0].isMistaken && score < search->hits[0].score));
}

/// Keeps a hit if it is among the best hits of a search.
void hits_offer(struct spotlight_search *search, struct spotlight_hit hit);

#endif
