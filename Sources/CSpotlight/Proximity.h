#ifndef PROXIMITY_H
#define PROXIMITY_H

#include "CSpotlight.h"

/// The phrases with which a document has the words of a query.
struct matched {
  /// The first phrase of each word, and -1 for a word without one.
  int first[64];
  int words;
};

/// Returns what a word and the next one add to a score at most.
double proximity_most(
  const struct spotlight_search *search, const struct matched *matched, int word);

/// Adds what successive words add to the score of the current document. Returns an SQLite result
/// code.
int proximity_add(
  const Fts5ExtensionApi *api, Fts5Context *context, const struct spotlight_search *search,
  const struct matched *matched, double *total);

#endif
