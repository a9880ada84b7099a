#ifndef PROXIMITY_H
#define PROXIMITY_H

#include "CSpotlight.h"

/// The phrases by which a document matches the words of a query.
struct matched {
  /// The first matching phrase of each word; -1 for a word without a match.
  int first[64];
  int words;
};

/// Returns the greatest score that the proximity of a word and the next word can add.
double proximity_most(
  const struct spotlight_search *search, const struct matched *matched, int word);

/// Adds the proximity of successive words to the score of the current document.
///
/// Returns an SQLite result code.
int proximity_add(
  const Fts5ExtensionApi *api, Fts5Context *context, const struct spotlight_search *search,
  const struct matched *matched, double *total);

#endif
