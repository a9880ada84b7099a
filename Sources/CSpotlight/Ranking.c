#include "CSpotlight.h"
#include "Hits.h"
#include "Proximity.h"
#include "Ranking.h"
#include "Titles.h"

#include <math.h>
#include <stdlib.h>

static const char pointerName[] = "cordial_search";

int spotlight_bind(sqlite3_stmt *statement, int index, struct spotlight_search *search) {
  return sqlite3_bind_pointer(statement, index, search, pointerName, NULL);
}

void spotlight_finish(struct spotlight_search *search) {
  free(search->frequencies);
  free(search->documentCounts);
  search->frequencies = NULL;
  search->documentCounts = NULL;
}

void spotlight_stop(int32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELAXED); }

bool spotlight_is_stopped(const int32_t *flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED); }

// Counts a posting that is read. Returns SQLITE_INTERRUPT where the search is to end.
static int readPosting(struct spotlight_search *search) {
  search->readCount++;
  bool looks = search->stopped && search->readCount % 1024 == 0;
  return looks && spotlight_is_stopped(search->stopped) ? SQLITE_INTERRUPT : SQLITE_OK;
}

// Returns whether an ascending list has a number.
static bool contains(const int64_t *numbers, int64_t count, int64_t number) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (numbers[middle] == number) return true;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return false;
}

static bool isKept(const struct spotlight_search *search, int64_t document) {
  if (!search->kept) return true;
  const struct spotlight_document *found = documentAt(search, document);
  const int64_t *kept = search->kept[found->entity];
  int64_t count = search->keptCounts[found->entity], object = found->object;
  const uint64_t *bits = search->keptBits[found->entity];
  if (!bits) return contains(kept, count, object);
  return object >= 0 && object <= kept[count - 1] && bits[object >> 6] >> (object & 63) & 1;
}

static bool isAlive(const struct spotlight_search *search, int64_t document) {
  if (document <= 0 || document >= search->documentCount) return false;
  return search->alive[document >> 6] >> (document & 63) & 1;
}

// Returns whether the search may return a live document.
static bool isWanted(const struct spotlight_search *search, int64_t document) {
  return search->wanted[documentAt(search, document)->entity]
    && !contains(search->excluded, search->excludedCount, document) && isKept(search, document);
}

struct counting {
  struct spotlight_search *search;
  int64_t count;
};

static int countDocument(const Fts5ExtensionApi *api, Fts5Context *context, void *data) {
  struct counting *counting = data;
  if (isAlive(counting->search, api->xRowid(context))) counting->count++;
  return readPosting(counting->search);
}

// BM25's usual constants.
static const double k1 = 1.2, b = 0.75;

static int prepareCounts(struct spotlight_search *search, int phrases) {
  double average = search->aliveCount > 0
    ? (double)search->aliveTokens / (double)search->aliveCount : 1;
  search->lengthBase = k1 * (1 - b);
  search->lengthFactor = k1 * b / (average > 0 ? average : 1);
  search->frequencies = calloc((size_t)phrases + 1, sizeof(double));
  search->documentCounts = calloc((size_t)phrases + 1, sizeof(int64_t));
  if (!search->frequencies || !search->documentCounts) return SQLITE_NOMEM;
  search->phraseCount = phrases;
  return SQLITE_OK;
}

// Sets how many documents have a phrase, and BM25's inverse document frequency of it. Its minimum
// is above zero, so that a word in most documents still counts a little.
static void setCount(struct spotlight_search *search, int phrase, int64_t documents) {
  double count = (double)documents, all = (double)search->aliveCount;
  double frequency = log((all - count + 0.5) / (count + 0.5));
  search->frequencies[phrase] = frequency < 0.01 ? 0.01 : frequency;
  search->documentCounts[phrase] = documents;
}

int spotlight_set_counts(struct spotlight_search *search, const int64_t *counts) {
  int result = prepareCounts(search, search->describedCount);
  if (result != SQLITE_OK) return result;
  for (int phrase = 0; phrase < search->phraseCount; phrase++) {
    setCount(search, phrase, counts[phrase]);
  }
  return SQLITE_OK;
}

static int readFrequencies(
  const Fts5ExtensionApi *api, Fts5Context *context, struct spotlight_search *search
) {
  // An excluded phrase is in no hit.
  int phrases = api->xPhraseCount(context);
  if (phrases > search->describedCount) phrases = search->describedCount;
  int prepared = prepareCounts(search, phrases);
  if (prepared != SQLITE_OK) return prepared;
  for (int phrase = 0; phrase < phrases; phrase++) {
    struct counting counting = {search, 0};
    int result = api->xQueryPhrase(context, phrase, &counting, countDocument);
    if (result != SQLITE_OK) return result;
    setCount(search, phrase, counting.count);
  }
  return SQLITE_OK;
}

// Returns the part of BM25 that depends on the length of a document.
static double lengthNorm(const struct spotlight_search *search, int64_t document) {
  return search->lengthBase
    + search->lengthFactor * (double)documentAt(search, document)->length;
}

// Computes what a phrase adds to the score of the current document, and what it is in its title.
static int share(
  const Fts5ExtensionApi *api, Fts5Context *context, const struct spotlight_search *search,
  int64_t document, double norm, int phrase, struct title *title, struct spotlight_share *out
) {
  const struct spotlight_document *found = documentAt(search, document);
  const double *weights = search->weights + (int64_t)found->entity * search->columnCount;
  Fts5PhraseIter at;
  int column, offset;
  double frequency = 0;
  out->count = 0;
  int result = api->xPhraseFirst(context, phrase, &at, &column, &offset);
  if (result != SQLITE_OK) return result;
  for (; column >= 0; api->xPhraseNext(context, &at, &column, &offset)) {
    out->count++;
    if (column < search->columnCount) frequency += weights[column];
    if (column == title->column) title_add(title, api->xPhraseSize(context, phrase), offset);
  }
  out->documents = search->documentCounts[phrase];
  // The frequency of the phrase is the last factor, so that a pass that knows it only at its end
  // computes the same score.
  int mistakes = search->phrases[phrase].mistakes;
  double limit = mistakes > 0 ? (k1 + 1) / (1 + mistakes) : k1 + 1;
  out->bound = limit * search->frequencies[phrase];
  out->plain = frequency > 0 ? limit * frequency / (frequency + norm) : 0;
  out->score = out->plain * search->frequencies[phrase];
  return SQLITE_OK;
}

// Returns the factor by which an object's numbers and dates change its score.
static double boost(const struct spotlight_search *search, int64_t document) {
  double factor = 1;
  int64_t entity = documentAt(search, document)->entity;
  const double *chunk = search->boostValues[document >> SPOTLIGHT_CHUNK_BITS];
  const double *values = chunk + placeInChunk(document) * search->boostCount;
  for (int32_t index = 0; index < search->boostCount; index++) {
    struct spotlight_boost rule = search->boosts[entity * search->boostCount + index];
    double value = values[index];
    if (rule.weight <= 0) continue;
    if (rule.halfLife > 0) {
      // A date far in the future counts no more than one of the past counts less.
      double age = isnan(value) ? 10 : fmax(-10, fmin(10, (search->now - value) / rule.halfLife));
      factor *= exp2(-rule.weight * age);
    } else if (value > 0) {
      factor *= 1 + rule.weight * log10(1 + value);
    }
  }
  return factor;
}

static int score(
  const Fts5ExtensionApi *api, Fts5Context *context, struct spotlight_search *search,
  int64_t document, struct spotlight_hit *out
) {
  double norm = lengthNorm(search, document);
  double total = 0, plain = 0;
  bool isMistaken = false;
  struct matched matched = {.words = 0};
  struct title title = title_make(search, document);
  for (int start = 0, end; start < search->phraseCount; start = end) {
    int number = search->phrases[start].word & 63;
    for (end = start; end < search->phraseCount; end++) {
      if (search->phrases[end].word != search->phrases[start].word) break;
    }
    while (matched.words <= number) matched.first[matched.words++] = -1;
    // A document that has the word as it was typed needs none with typing mistakes. Of several of
    // those, one counts: a document with them has what was meant no more often.
    double mistaken = 0;
    bool isExact = false;
    for (int pass = 0; pass < 2 && !isExact; pass++) {
      for (int phrase = start; phrase < end; phrase++) {
        if ((search->phrases[phrase].mistakes > 0) != (pass > 0)) continue;
        struct spotlight_share added;
        title.isPrefix = search->phrases[phrase].isPrefix;
        int result = share(api, context, search, document, norm, phrase, &title, &added);
        if (result != SQLITE_OK) return result;
        if (added.count == 0) continue;
        if (matched.first[number] < 0) matched.first[number] = phrase;
        plain = added.plain;
        if (pass == 0) {
          isExact = true;
          total += added.score;
        } else if (added.score > mistaken) {
          mistaken = added.score;
        }
      }
    }
    total += mistaken;
    if (!isExact) isMistaken = true;
    title_end_word(&title);
  }
  out->isMistaken = isMistaken;
  double factor = title_factor(
      search, document, title.covered, title.begins, title.isFinished);
  if (search->boostCount > 0) factor *= boost(search, document);
  double bound = total;
  for (int word = 0; word + 1 < matched.words; word++) {
    bound += proximity_most(search, &matched, word);
  }
  if (out->isMistaken && bound * factor > search->mistakenMax) {
    search->mistakenMax = bound * factor;
  }
  if (!out->isMistaken && total * factor < search->exactMin) search->exactMin = total * factor;
  // Most documents cannot be among the best, however close their words are.
  out->score = bound * factor;
  // One phrase has the same score here as in `visit`, to the last bit.
  if (search->phraseCount == 1 && search->boostCount == 0) {
    out->score = plain * factor * search->frequencies[0];
    return SQLITE_OK;
  }
  bool isKept = search->hitCount < search->hitMax
    || (search->hitMax > 0 && hits_is_worse(search, search->hits[0], *out));
  if (!isKept) return SQLITE_OK;
  int result = proximity_add(api, context, search, &matched, &total);
  out->score = total * factor;
  return result;
}

// Implements `cordial_hit(table, search)`, which counts a document and keeps it if it is among the
// best. The result is always false, so that SQLite visits every document and returns no row.
static void hit(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values
) {
  struct spotlight_search *search =
    count == 1 ? sqlite3_value_pointer(values[0], pointerName) : NULL;
  if (!search) {
    sqlite3_result_error(result, "cordial_hit requires a search", -1);
    return;
  }
  sqlite3_result_int(result, 0);
  int code = readPosting(search);
  if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
  int64_t document = api->xRowid(context);
  if (search->total > search->totalMax) return;
  if (!isAlive(search, document) || !isWanted(search, document)) return;
  if (!search->frequencies) code = readFrequencies(api, context, search);
  struct spotlight_hit found = {0, document, false};
  if (code == SQLITE_OK) code = score(api, context, search, document, &found);
  if (code != SQLITE_OK) {
    sqlite3_result_error_code(result, code);
    return;
  }
  search->total++;
  hits_offer(search, found);
}

// What a document has of a word.
struct found {
  double score;
  int64_t document;
  // The places of the display name that the word covers, and whether the name begins with it.
  uint64_t covered;
  bool begins, isFinished;
};

// Documents with the scores of a word, by their numbers.
struct founds {
  struct found *documents;
  int64_t count, max;
};

// One pass over the documents of a phrase.
struct pass {
  struct spotlight_search *search;
  // The number of the phrase in the query.
  int phrase;
  int64_t count;
  // Whether the pass ranks the documents itself; otherwise it adds them to `found`, with scores
  // that are multiplied by the frequency at its end.
  bool ranks;
  struct founds found;
};

static int reserve(struct founds *founds, int64_t max) {
  if (max <= founds->max) return SQLITE_OK;
  struct found *grown = realloc(founds->documents, (size_t)max * sizeof *grown);
  if (!grown) return SQLITE_NOMEM;
  founds->documents = grown;
  founds->max = max;
  return SQLITE_OK;
}

static int addFound(struct founds *founds, struct found found) {
  if (founds->count == founds->max) {
    int result = reserve(founds, founds->max == 0 ? 1024 : 2 * founds->max);
    if (result != SQLITE_OK) return result;
  }
  founds->documents[founds->count++] = found;
  return SQLITE_OK;
}

static int visit(const Fts5ExtensionApi *api, Fts5Context *context, void *data) {
  struct pass *pass = data;
  struct spotlight_search *search = pass->search;
  int result = readPosting(search);
  if (result != SQLITE_OK) return result;
  if (search->total > search->totalMax) return SQLITE_DONE;
  int64_t document = api->xRowid(context);
  if (!isAlive(search, document)) return SQLITE_OK;
  pass->count++;
  if (!isWanted(search, document)) return SQLITE_OK;
  struct spotlight_share added;
  double norm = lengthNorm(search, document);
  // The cursor of a phrase has this phrase alone.
  struct title title = title_make(search, document);
  title.isPrefix = search->phrases[pass->phrase].isPrefix;
  result = share(api, context, search, document, norm, 0, &title, &added);
  if (result != SQLITE_OK) return result;
  title_end_word(&title);
  if (pass->ranks) {
    double factor = title_factor(
      search, document, title.covered, title.begins, title.isFinished);
    double score = added.plain * factor;
    search->total++;
    if (!hits_refuse(search, score)) {
      hits_offer(search, (struct spotlight_hit){score, document, false});
    }
    return SQLITE_OK;
  }
  return addFound(&pass->found, (struct found){
    added.score, document, title.covered, title.begins, title.isFinished});
}

// Adds the documents of another phrase to those of the phrases before it.
static int addPhrase(struct founds *all, const struct founds *phrase, double frequency) {
  struct founds sum = {.documents = NULL};
  int result = reserve(&sum, all->count + phrase->count);
  int64_t at = 0, next = 0;
  while (result == SQLITE_OK && (at < all->count || next < phrase->count)) {
    bool isKnown = at < all->count
      && (next == phrase->count
        || all->documents[at].document <= phrase->documents[next].document);
    struct found found = isKnown ? all->documents[at++] : (struct found){
      .document = phrase->documents[next].document};
    if (next < phrase->count && phrase->documents[next].document == found.document) {
      struct found added = phrase->documents[next++];
      // The product is rounded by itself, as where one row has all phrases.
      double score = added.score * frequency;
      found.score += score;
      found.covered |= added.covered;
      if (added.begins) found.begins = true;
      if (added.begins && added.isFinished) found.isFinished = true;
    }
    sum.documents[sum.count++] = found;
  }
  free(all->documents);
  *all = sum;
  return result;
}

// Ranks the documents of several phrases of one word, or with factors for their scores.
static int rankPhrases(
  const Fts5ExtensionApi *api, Fts5Context *context, struct spotlight_search *search
) {
  int phrases = search->phraseCount;
  struct pass pass = {.search = search};
  struct founds all = {.documents = NULL};
  double *frequencies = calloc((size_t)phrases, sizeof(double));
  int64_t *counts = calloc((size_t)phrases, sizeof(int64_t));
  int result = frequencies && counts ? SQLITE_OK : SQLITE_NOMEM;
  for (int phrase = 0; result == SQLITE_OK && phrase < phrases; phrase++) {
    pass.phrase = phrase;
    pass.count = 0;
    pass.found.count = 0;
    result = api->xQueryPhrase(context, phrase, &pass, visit);
    if (result != SQLITE_OK) break;
    counts[phrase] = pass.count;
    // The passes read a frequency of 1 at the first place.
    setCount(search, phrase, pass.count);
    frequencies[phrase] = search->frequencies[phrase];
    search->frequencies[0] = 1;
    result = addPhrase(&all, &pass.found, frequencies[phrase]);
  }
  for (int64_t at = 0; result == SQLITE_OK && at < all.count; at++) {
    struct found found = all.documents[at];
    double factor = title_factor(
      search, found.document, found.covered, found.begins, found.isFinished);
    if (search->boostCount > 0) factor *= boost(search, found.document);
    double score = found.score * factor;
    search->total++;
    if (!hits_refuse(search, score)) {
      hits_offer(search, (struct spotlight_hit){score, found.document, false});
    }
  }
  for (int phrase = 0; result == SQLITE_OK && phrase < phrases; phrase++) {
    setCount(search, phrase, counts[phrase]);
  }
  free(all.documents);
  free(pass.found.documents);
  free(frequencies);
  free(counts);
  return result;
}

// Implements `cordial_word(table, search)`, which ranks all documents of a query of one word, or of
// any of several words, without mistakes, once for the first row. A row of SQL for each document costs as much again.
static void word(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values
) {
  struct spotlight_search *search =
    count == 1 ? sqlite3_value_pointer(values[0], pointerName) : NULL;
  if (!search) {
    sqlite3_result_error(result, "cordial_word requires a search", -1);
    return;
  }
  int phrases = api->xPhraseCount(context);
  if (phrases > search->describedCount) phrases = search->describedCount;
  int code = prepareCounts(search, phrases);
  if (code == SQLITE_OK) {
    search->frequencies[0] = 1;
    if (phrases > 1 || search->boostCount > 0) {
      code = rankPhrases(api, context, search);
    } else {
      struct pass pass = {.search = search, .ranks = true};
      code = api->xQueryPhrase(context, 0, &pass, visit);
      setCount(search, 0, pass.count);
      // Different scores may become equal ones, which are ordered otherwise.
      int32_t count = search->hitCount;
      search->hitCount = 0;
      for (int32_t at = 0; at < count; at++) {
        struct spotlight_hit found = search->hits[at];
        found.score *= search->frequencies[0];
        hits_offer(search, found);
      }
    }
  }
  if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
  sqlite3_result_int(result, 1);
}

// Implements `cordial_explain(table, search)`, which fills in the shares of the current row.
static void explain(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values
) {
  struct spotlight_search *search =
    count == 1 ? sqlite3_value_pointer(values[0], pointerName) : NULL;
  if (!search || !search->shares) {
    sqlite3_result_error(result, "cordial_explain requires a search", -1);
    return;
  }
  int64_t document = api->xRowid(context);
  bool isKnown = isAlive(search, document);
  int code = search->frequencies ? SQLITE_OK : readFrequencies(api, context, search);
  double norm = isKnown ? lengthNorm(search, document) : 0;
  struct title title = {.column = -1};
  for (int phrase = 0; isKnown && code == SQLITE_OK && phrase < search->phraseCount; phrase++) {
    code = share(api, context, search, document, norm, phrase, &title, &search->shares[phrase]);
  }
  if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
  sqlite3_result_int(result, isKnown);
}

int spotlight_register_ranking(fts5_api *api) {
  int result = api->xCreateFunction(api, "cordial_hit", NULL, hit, NULL);
  if (result != SQLITE_OK) return result;
  result = api->xCreateFunction(api, "cordial_word", NULL, word, NULL);
  if (result != SQLITE_OK) return result;
  return api->xCreateFunction(api, "cordial_explain", NULL, explain, NULL);
}
