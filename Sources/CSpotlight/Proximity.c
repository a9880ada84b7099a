#include "Proximity.h"

#include <math.h>

// The score that two adjacent words of the query add, as a fraction of the lower of their
// frequencies.
static const double proximity = 0.25;

// Computes the distance of two phrases in a document: 1 if the second phrase directly follows the
// first. In the reverse order, the distance is greater by 1.
static int distance(
  const Fts5ExtensionApi *api, Fts5Context *context, int first, int second, int64_t *out
) {
  Fts5PhraseIter at, other;
  int column, offset, otherColumn, otherOffset;
  int length = api->xPhraseSize(context, first), otherLength = api->xPhraseSize(context, second);
  int result = api->xPhraseFirst(context, first, &at, &column, &offset);
  if (result == SQLITE_OK) {
    result = api->xPhraseFirst(context, second, &other, &otherColumn, &otherOffset);
  }
  if (result != SQLITE_OK) return result;
  int64_t best = 0;
  while (column >= 0 && otherColumn >= 0) {
    if (offset < 0 || otherOffset < 0) return SQLITE_CORRUPT_VTAB;
    bool isAfter = otherColumn > column || (otherColumn == column && otherOffset >= offset);
    if (column == otherColumn) {
      // The offsets of a damaged index may be of any size.
      int64_t between = isAfter
        ? (int64_t)otherOffset - offset - length + 1
        : (int64_t)offset - otherOffset - otherLength + 2;
      // Overlapping phrases are the same words, so they do not count.
      if (between > 0 && (best == 0 || between < best)) best = between;
    }
    if (isAfter) api->xPhraseNext(context, &at, &column, &offset);
    else api->xPhraseNext(context, &other, &otherColumn, &otherOffset);
  }
  *out = best;
  return SQLITE_OK;
}

double proximity_most(
  const struct spotlight_search *search, const struct matched *matched, int word
) {
  int first = matched->first[word], second = matched->first[word + 1];
  if (first < 0 || second < 0) return 0;
  return proximity * fmin(search->frequencies[first], search->frequencies[second]);
}

int proximity_add(
  const Fts5ExtensionApi *api, Fts5Context *context, const struct spotlight_search *search,
  const struct matched *matched, double *total
) {
  for (int word = 0; word + 1 < matched->words; word++) {
    double added = proximity_most(search, matched, word);
    if (added <= 0) continue;
    int64_t apart = 0;
    int result =
      distance(api, context, matched->first[word], matched->first[word + 1], &apart);
    if (result != SQLITE_OK) return result;
    if (apart > 0) *total += added / (double)apart;
  }
  return SQLITE_OK;
}
