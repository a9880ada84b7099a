#ifndef SCORING_H
#define SCORING_H

#include "Hits.h"
#include "Titles.h"

/// The name of the type of a pointer to a search, which SQLite passes to a function.
#define SCORING_POINTER "cordial_search"

/// The constant `k1` of BM25, with its usual value.
#define SCORING_K1 1.2

/// The distance from the current document number to the number whose data is fetched early.
///
/// The documents of a frequent word are close together: 16 documents fill four lines of the cache.
#define SCORING_AHEAD 16

/// Returns the search that an SQL function received as its argument.
///
/// Without a search, sets the function's error and returns NULL.
struct spotlight_search *scoring_search(
  sqlite3_context *result, int count, sqlite3_value **values);

/// Counts a posting that is read.
///
/// Returns SQLITE_INTERRUPT if the search must end.
static inline int scoring_read(struct spotlight_search *search) {
  search->readCount++;
  bool looks = search->interruption && search->readCount % 1024 == 0;
  return looks && interruption_reason(search->interruption) ? SQLITE_INTERRUPT : SQLITE_OK;
}

/// Returns whether an ascending list has a number.
static inline bool scoring_contains(const int64_t *numbers, int64_t count, int64_t number) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (numbers[middle] == number) return true;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return false;
}

/// Returns whether the predicate of the search keeps a document.
static inline bool scoring_is_kept(const struct spotlight_search *search, int64_t document) {
  if (!search->kept) return true;
  const struct spotlight_document *found = documentAt(search, document);
  const int64_t *kept = search->kept[found->entity];
  int64_t count = search->keptCounts[found->entity], object = found->object;
  const uint64_t *bits = search->keptBits[found->entity];
  if (!bits) return scoring_contains(kept, count, object);
  return object >= 0 && object <= kept[count - 1] && bits[object >> 6] >> (object & 63) & 1;
}

/// Returns whether a live document has a number.
static inline bool scoring_is_alive(const struct spotlight_search *search, int64_t document) {
  if (document <= 0 || document >= search->documentCount) return false;
  return search->alive[document >> 6] >> (document & 63) & 1;
}

/// Prefetches the data of a document that probably follows in the list, so that the pass over the
/// list does not wait for memory.
static inline void scoring_expect(const struct spotlight_search *search, int64_t document) {
  int64_t ahead = document + SCORING_AHEAD;
  if (ahead < search->documentCount) __builtin_prefetch(documentAt(search, ahead));
}

/// Returns whether the search may return a live document.
static inline bool scoring_is_wanted(const struct spotlight_search *search, int64_t document) {
  return search->wanted[documentAt(search, document)->entity]
    && !scoring_contains(search->excluded, search->excludedCount, document)
    && scoring_is_kept(search, document);
}

/// Allocates the counts of phrases. Returns an SQLite result code.
int scoring_prepare(struct spotlight_search *search, int phrases);

/// Sets the document count of a phrase, and computes its inverse document frequency for BM25.
void scoring_set_count(struct spotlight_search *search, int phrase, int64_t documents);

/// Returns the factor by which an object's numbers and dates change its score.
double scoring_boost(const struct spotlight_search *search, int64_t document);

/// Returns the part of BM25 that depends on the length of a document.
static inline double scoring_norm(const struct spotlight_search *search, int64_t document) {
  return search->lengthBase
    + search->lengthFactor * (double)documentAt(search, document)->length;
}

/// Reads the occurrences of a phrase in the current document: their count, the sum of their
/// weights, and their offsets in the title.
static inline int scoring_places(
  const Fts5ExtensionApi *api, Fts5Context *context, const struct spotlight_search *search,
  const struct spotlight_document *found, int phrase, struct title *title, int64_t *count,
  double *weight
) {
  const double *weights = search->weights + (int64_t)found->entity * search->columnCount;
  Fts5PhraseIter at;
  int column, offset;
  int64_t places = 0;
  double sum = 0;
  int result = api->xPhraseFirst(context, phrase, &at, &column, &offset);
  if (result != SQLITE_OK) return result;
  for (; column >= 0; api->xPhraseNext(context, &at, &column, &offset)) {
    // Only damage makes an offset negative; the tables of FTS5 read it as the first offset.
    if (offset < 0) return SQLITE_CORRUPT_VTAB;
    places++;
    if (column < search->columnCount) sum += weights[column];
    if (column == title->column) title_add(title, api->xPhraseSize(context, phrase), offset);
  }
  *count = places;
  *weight = sum;
  return SQLITE_OK;
}

/// Returns the share of a phrase in a score if its frequency is 1.
///
/// The frequency is always the last factor, so that a pass that knows the frequency only at its end
/// computes the same score.
static inline double scoring_plain(double limit, double weight, double norm) {
  return weight > 0 ? limit * weight / (weight + norm) : 0;
}

#endif
