#include "Scoring.h"

#include <math.h>
#include <stdlib.h>

// The constant `b` of BM25, with its usual value.
static const double b = 0.75;

struct spotlight_search *scoring_search(
  sqlite3_context *result, int count, sqlite3_value **values
) {
  struct spotlight_search *search =
    count == 1 ? sqlite3_value_pointer(values[0], SCORING_POINTER) : NULL;
  if (!search) sqlite3_result_error(result, "A function of the ranking requires a search", -1);
  return search;
}

int scoring_prepare(struct spotlight_search *search, int phrases) {
  double average = search->aliveCount > 0
    ? (double)search->aliveTokens / (double)search->aliveCount : 1;
  search->lengthBase = SCORING_K1 * (1 - b);
  search->lengthFactor = SCORING_K1 * b / (average > 0 ? average : 1);
  // The counts of a search may have been set before.
  free(search->frequencies);
  free(search->documentCounts);
  search->frequencies = calloc((size_t)phrases + 1, sizeof(double));
  search->documentCounts = calloc((size_t)phrases + 1, sizeof(int64_t));
  if (!search->frequencies || !search->documentCounts) return SQLITE_NOMEM;
  search->phraseCount = phrases;
  return SQLITE_OK;
}

// The minimum of a frequency is above zero, so that a word in most documents still counts a little.
double spotlight_frequency(int64_t count, int64_t all) {
  double documents = (double)count;
  double frequency = log(((double)all - documents + 0.5) / (documents + 0.5));
  return frequency < 0.01 ? 0.01 : frequency;
}

void scoring_set_count(struct spotlight_search *search, int phrase, int64_t documents) {
  search->frequencies[phrase] = spotlight_frequency(documents, search->aliveCount);
  search->documentCounts[phrase] = documents;
}

double scoring_boost(const struct spotlight_search *search, int64_t document) {
  double factor = 1;
  int64_t entity = documentAt(search, document)->entity;
  const double *chunk = search->boostValues[document >> SPOTLIGHT_CHUNK_BITS];
  const double *values = chunk + placeInChunk(document) * search->boostCount;
  for (int32_t index = 0; index < search->boostCount; index++) {
    struct spotlight_boost rule = search->boosts[entity * search->boostCount + index];
    double value = values[index];
    if (rule.weight <= 0) continue;
    if (rule.halfLife > 0) {
      // A date in the future raises the score at most as much as a date in the past lowers it.
      double age = isnan(value) ? 10 : fmax(-10, fmin(10, (search->now - value) / rule.halfLife));
      factor *= exp2(-rule.weight * age);
    } else if (value > 0) {
      factor *= 1 + rule.weight * log10(1 + value);
    }
  }
  return factor;
}
