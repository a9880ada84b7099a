#ifndef TITLES_H
#define TITLES_H

#include "Hits.h"

/// The matches of a query's words in the display name of a document.
struct title {
  /// The column of the name; -1 for none.
  int column;
  /// The offset at which the name must have the next word if the name begins with the query.
  int expected;
  bool begins;
  /// A bit for each of the first 64 offsets in the name, which says whether a word covers it.
  uint64_t covered;
  /// Whether the name begins with whole words of the query, and not only with prefixes.
  bool isFinished;
  /// The greatest count of offsets from `expected` on that a phrase of the present word covers: a
  /// phrase of whole words, and any phrase.
  int finished, there;
  /// Whether the present phrase ends with the beginning of a word.
  bool isPrefix;
};

static inline struct title title_make(const struct spotlight_search *search, int64_t document) {
  struct title title = {.column = -1, .begins = true, .isFinished = true};
  const int32_t *columns = search->titleColumns;
  if (columns) title.column = columns[documentAt(search, document)->entity];
  return title;
}

/// Adds an occurrence of a phrase of the present word.
void title_add(struct title *title, int size, int offset);

static inline void title_end_word(struct title *title) {
  title->expected += title->there;
  if (title->there == 0) title->begins = false;
  if (title->finished == 0) title->isFinished = false;
  title->there = 0;
  title->finished = 0;
}

/// Returns the factor for the score of a document whose display name has words of the query.
double title_factor(
  const struct spotlight_search *search, int64_t document, uint64_t covered, bool begins,
  bool isFinished);

#endif
