#include "CSpotlight.h"
#include "Proximity.h"
#include "Ranking.h"
#include "Scoring.h"
#include "WordRanking.h"

#include <math.h>
#include <stdlib.h>

int spotlight_bind(sqlite3_stmt *statement, int index, struct spotlight_search *search) {
  return sqlite3_bind_pointer(statement, index, search, SCORING_POINTER, NULL);
}

void spotlight_finish(struct spotlight_search *search) {
  free(search->frequencies);
  free(search->documentCounts);
  search->frequencies = NULL;
  search->documentCounts = NULL;
}

int spotlight_set_word_counts(struct spotlight_search *search, const int64_t *counts) {
  int result = scoring_prepare(search, search->describedCount);
  if (result != SQLITE_OK) return result;
  for (int phrase = 0; phrase < search->phraseCount; phrase++) {
    scoring_set_count(search, phrase, counts[search->phrases[phrase].word]);
  }
  return SQLITE_OK;
}

void spotlight_set_weights(
  struct spotlight_search *search, const double *weights, int32_t count, double least
) {
  search->weighsWords = true;
  search->leastWeight = least;
  for (int32_t word = 0; word < 64; word++) {
    search->wordWeights[word] = word < count ? weights[word] : 0;
  }
}

struct counting {
  struct spotlight_search *search;
  int64_t count;
};

static int countDocument(const Fts5ExtensionApi *api, Fts5Context *context, void *data) {
  struct counting *counting = data;
  if (scoring_is_alive(counting->search, api->xRowid(context))) counting->count++;
  return scoring_read(counting->search);
}

int spotlight_set_counts(struct spotlight_search *search, const int64_t *counts) {
  int result = scoring_prepare(search, search->describedCount);
  if (result != SQLITE_OK) return result;
  for (int phrase = 0; phrase < search->phraseCount; phrase++) {
    scoring_set_count(search, phrase, counts[phrase]);
  }
  return SQLITE_OK;
}

static int readFrequencies(
  const Fts5ExtensionApi *api, Fts5Context *context, struct spotlight_search *search
) {
  // The excluded phrases come last; they are in no hit and need no frequency.
  int phrases = api->xPhraseCount(context);
  if (phrases > search->describedCount) phrases = search->describedCount;
  int prepared = scoring_prepare(search, phrases);
  if (prepared != SQLITE_OK) return prepared;
  for (int phrase = 0; phrase < phrases; phrase++) {
    struct counting counting = {search, 0};
    int result = api->xQueryPhrase(context, phrase, &counting, countDocument);
    if (result != SQLITE_OK) return result;
    scoring_set_count(search, phrase, counting.count);
  }
  return SQLITE_OK;
}

// Computes the share of a phrase in the score of the current document, and its matches in the
// title.
static int share(
  const Fts5ExtensionApi *api, Fts5Context *context, const struct spotlight_search *search,
  int64_t document, double norm, int phrase, struct title *title, struct spotlight_share *out
) {
  double weight = 0;
  int result = scoring_places(
    api, context, search, documentAt(search, document), phrase, title, &out->count, &weight);
  if (result != SQLITE_OK) return result;
  out->documents = search->documentCounts[phrase];
  int mistakes = search->phrases[phrase].mistakes;
  double limit = mistakes > 0 ? (SCORING_K1 + 1) / (1 + mistakes) : SCORING_K1 + 1;
  out->bound = limit * search->frequencies[phrase];
  out->plain = scoring_plain(limit, weight, norm);
  out->score = out->plain * search->frequencies[phrase];
  return SQLITE_OK;
}

// Returns whether the words that a document has weigh enough.
static bool hasEnough(const struct spotlight_search *search, uint64_t words) {
  if (!search->weighsWords) return true;
  double sum = 0;
  for (int word = 0; word < 64; word++) {
    if (words >> word & 1) sum += search->wordWeights[word];
  }
  return sum >= search->leastWeight;
}

// Computes the score of the current document. `*isMatch` says whether its words weigh enough.
static int score(
  const Fts5ExtensionApi *api, Fts5Context *context, struct spotlight_search *search,
  int64_t document, struct spotlight_hit *out, bool *isMatch
) {
  double norm = scoring_norm(search, document);
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
    // If the document has the word as it was typed, its typing mistakes do not count. Otherwise,
    // only the best mistake counts: several mistakes do not mean that the document has the meant
    // word more often.
    double mistaken = 0;
    bool isExact = false, isThere = false;
    for (int pass = 0; pass < 2 && !isExact; pass++) {
      for (int phrase = start; phrase < end; phrase++) {
        if ((search->phrases[phrase].mistakes > 0) != (pass > 0)) continue;
        struct spotlight_share added;
        title.isPrefix = search->phrases[phrase].isPrefix;
        int result = share(api, context, search, document, norm, phrase, &title, &added);
        if (result != SQLITE_OK) return result;
        if (added.count == 0) continue;
        isThere = true;
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
    if (isThere && !isExact) isMistaken = true;
    if (isThere) out->words |= (uint64_t)1 << number;
    title_end_word(&title);
  }
  out->isMistaken = isMistaken && !search->weighsWords;
  *isMatch = hasEnough(search, out->words);
  if (!*isMatch) return SQLITE_OK;
  double factor = title_factor(
      search, document, title.covered, title.begins, title.isFinished);
  if (search->boostCount > 0) factor *= scoring_boost(search, document);
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
  // A single phrase has exactly the same score here as in `visit`.
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
  struct spotlight_search *search = scoring_search(result, count, values);
  if (!search) return;
  sqlite3_result_int(result, 0);
  int code = scoring_read(search);
  if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
  int64_t document = api->xRowid(context);
  if (search->total > search->totalMax) return;
  if (!scoring_is_alive(search, document) || !scoring_is_wanted(search, document)) return;
  if (!search->frequencies) code = readFrequencies(api, context, search);
  struct spotlight_hit found = {.document = document};
  bool isMatch = false;
  if (code == SQLITE_OK) code = score(api, context, search, document, &found, &isMatch);
  if (code != SQLITE_OK) {
    sqlite3_result_error_code(result, code);
    return;
  }
  if (!isMatch) return;
  search->total++;
  hits_offer(search, found);
}

// Implements `cordial_count(table, search)`, which counts the documents of each phrase at the first
// row.
static void count(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values
) {
  struct spotlight_search *search = scoring_search(result, count, values);
  if (!search) return;
  int code = search->frequencies ? SQLITE_OK : readFrequencies(api, context, search);
  if (code != SQLITE_OK) return sqlite3_result_error_code(result, code);
  sqlite3_result_int(result, 1);
}

// Implements `cordial_explain(table, search)`, which fills in the shares of the current row.
static void explain(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values
) {
  struct spotlight_search *search = scoring_search(result, count, values);
  if (!search) return;
  if (!search->shares) {
    sqlite3_result_error(result, "cordial_explain requires shares to fill in", -1);
    return;
  }
  int64_t document = api->xRowid(context);
  bool isKnown = scoring_is_alive(search, document);
  int code = search->frequencies ? SQLITE_OK : readFrequencies(api, context, search);
  double norm = isKnown ? scoring_norm(search, document) : 0;
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
  result = api->xCreateFunction(api, "cordial_word", NULL, word_rank, NULL);
  if (result != SQLITE_OK) return result;
  result = api->xCreateFunction(api, "cordial_count", NULL, count, NULL);
  if (result != SQLITE_OK) return result;
  return api->xCreateFunction(api, "cordial_explain", NULL, explain, NULL);
}
