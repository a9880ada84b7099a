#include "Scoring.h"
#include "WordRanking.h"

#include <stdlib.h>

// A document that matches a word.
struct found {
  double score;
  int64_t document;
  // The offsets in the display name that the word covers, and whether the name begins with the
  // word.
  uint64_t covered;
  bool begins, isFinished;
};

// Documents with their scores for a word, in the order of document numbers.
struct foundList {
  struct found *documents;
  int64_t count, max;
};

// One pass over the documents of a phrase.
struct pass {
  struct spotlight_search *search;
  // The index of the phrase in the query.
  int phrase;
  int64_t count;
  // Whether the pass ranks the documents itself. Otherwise, it adds them to `found`, and their
  // scores are multiplied by the frequency after the pass.
  bool ranks;
  struct foundList found;
};

static int reserve(struct foundList *list, int64_t max) {
  if (max <= list->max) return SQLITE_OK;
  struct found *grown = realloc(list->documents, (size_t)max * sizeof *grown);
  if (!grown) return SQLITE_NOMEM;
  list->documents = grown;
  list->max = max;
  return SQLITE_OK;
}

static int addFound(struct foundList *list, struct found found) {
  if (list->count == list->max) {
    int result = reserve(list, list->max == 0 ? 1024 : 2 * list->max);
    if (result != SQLITE_OK) return result;
  }
  list->documents[list->count++] = found;
  return SQLITE_OK;
}

static int visit(const Fts5ExtensionApi *api, Fts5Context *context, void *data) {
  struct pass *pass = data;
  struct spotlight_search *search = pass->search;
  int result = scoring_read(search);
  if (result != SQLITE_OK) return result;
  if (search->total > search->totalMax) return SQLITE_DONE;
  int64_t document = api->xRowid(context);
  if (!scoring_is_alive(search, document)) return SQLITE_OK;
  scoring_expect(search, document);
  pass->count++;
  if (!scoring_is_wanted(search, document)) return SQLITE_OK;
  const struct spotlight_document *found = documentAt(search, document);
  struct title title = title_make(search, document);
  title.isPrefix = search->phrases[pass->phrase].isPrefix;
  int64_t count;
  double weight;
  // The cursor of a phrase has only this phrase, at index 0.
  result = scoring_places(api, context, search, found, 0, &title, &count, &weight);
  if (result != SQLITE_OK) return result;
  title_end_word(&title);
  double plain = scoring_plain(SCORING_K1 + 1, weight, scoring_norm(search, document));
  if (pass->ranks) {
    double factor = title_factor(
      search, document, title.covered, title.begins, title.isFinished);
    double score = plain * factor;
    search->total++;
    if (!hits_refuses(search, score)) {
      hits_offer(search, (struct spotlight_hit){.score = score, .document = document});
    }
    return SQLITE_OK;
  }
  return addFound(&pass->found, (struct found){
    plain, document, title.covered, title.begins, title.isFinished});
}

// Adds the documents of the next phrase to the documents of the previous phrases. `spare` keeps the
// memory of the former list for the next call.
static int addPhrase(
  struct foundList *all, struct foundList *spare, const struct foundList *phrase, double frequency
) {
  int result = reserve(spare, all->count + phrase->count);
  if (result != SQLITE_OK) return result;
  spare->count = 0;
  int64_t at = 0, next = 0;
  while (at < all->count || next < phrase->count) {
    bool isKnown = at < all->count
      && (next == phrase->count
        || all->documents[at].document <= phrase->documents[next].document);
    struct found found = isKnown ? all->documents[at++] : (struct found){
      .document = phrase->documents[next].document};
    if (next < phrase->count && phrase->documents[next].document == found.document) {
      struct found added = phrase->documents[next++];
      // The product is rounded before the addition, as in the ranking of a row with all phrases.
      double score = added.score * frequency;
      found.score += score;
      found.covered |= added.covered;
      if (added.begins) found.begins = true;
      if (added.begins && added.isFinished) found.isFinished = true;
    }
    spare->documents[spare->count++] = found;
  }
  struct foundList former = *all;
  *all = *spare;
  *spare = former;
  return SQLITE_OK;
}

// Ranks the documents of a word that has several phrases, or whose documents have boosts.
static int rankPhrases(
  const Fts5ExtensionApi *api, Fts5Context *context, struct spotlight_search *search
) {
  int phrases = search->phraseCount;
  struct pass pass = {.search = search};
  struct foundList all = {.documents = NULL}, spare = {.documents = NULL};
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
    // The passes compute scores as if the frequency were 1.
    scoring_set_count(search, phrase, pass.count);
    frequencies[phrase] = search->frequencies[phrase];
    search->frequencies[0] = 1;
    if (search->interruption && interruption_reason(search->interruption)) {
      result = SQLITE_INTERRUPT;
    }
    if (result == SQLITE_OK) {
      result = addPhrase(&all, &spare, &pass.found, frequencies[phrase]);
    }
  }
  for (int64_t at = 0; result == SQLITE_OK && at < all.count; at++) {
    struct found found = all.documents[at];
    double factor = title_factor(
      search, found.document, found.covered, found.begins, found.isFinished);
    if (search->boostCount > 0) factor *= scoring_boost(search, found.document);
    double score = found.score * factor;
    search->total++;
    if (!hits_refuses(search, score)) {
      hits_offer(search, (struct spotlight_hit){
        .score = score, .document = found.document});
    }
  }
  for (int phrase = 0; result == SQLITE_OK && phrase < phrases; phrase++) {
    scoring_set_count(search, phrase, counts[phrase]);
  }
  free(all.documents);
  free(spare.documents);
  free(pass.found.documents);
  free(frequencies);
  free(counts);
  return result;
}

void word_rank(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values
) {
  struct spotlight_search *search = scoring_search(result, count, values);
  if (!search) return;
  int phrases = api->xPhraseCount(context);
  if (phrases > search->describedCount) phrases = search->describedCount;
  int code = scoring_prepare(search, phrases);
  if (code == SQLITE_OK) {
    search->frequencies[0] = 1;
    if (phrases > 1 || search->boostCount > 0) {
      code = rankPhrases(api, context, search);
    } else {
      struct pass pass = {.search = search, .ranks = true};
      code = api->xQueryPhrase(context, 0, &pass, visit);
      scoring_set_count(search, 0, pass.count);
      // Rounding can make different scores equal, so the hits are put in order again.
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
