#ifndef HITS_H
#define HITS_H

#include "CSpotlight.h"

/// Returns whether the first hit ranks after the second: by mistakes, by a lower score, then by a
/// greater ID.
bool hits_is_worse(
  const struct spotlight_search *search, struct spotlight_hit a, struct spotlight_hit b);

/// Keeps a hit if it is among the best ones of a search.
void hits_offer(struct spotlight_search *search, struct spotlight_hit hit);

#endif
