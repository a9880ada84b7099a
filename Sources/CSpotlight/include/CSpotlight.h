// CSpotlight: the tokenizer and the ranking function that FTS5 calls.
//
// Must not know: Swift, what an entity is.
//
// What always holds:
// 1. Documents, queries and highlights are cut by one function, so their tokens agree.
// 2. Any bytes are a document: what is not UTF-8 separates words, and the rest is still indexed.
// 3. Nothing here keeps state between connections but what the caller hands in.

#ifndef CSPOTLIGHT_H
#define CSPOTLIGHT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version of the rules in `spotlight_tokenize`: an index made under another is made anew.
#define SPOTLIGHT_TOKENIZER_VERSION 1

/// Registers the tokenizer `cordial` and the function `cordial_hit` on a connection.
/// Returns an SQLite result code.
int spotlight_register(sqlite3 *connection);

/// How many tokens the tokenizer cut out of documents on this thread since the last call.
int64_t spotlight_take_token_count(void);

/// The versions of ICU, of Unicode and of the collation under which words are folded.
const char *spotlight_unicode_version(void);

enum {
  /// The text is what somebody searches: `c++` is that word and not also `c`.
  SPOTLIGHT_QUERY = 1,
};

/// Takes one token. Positions count from 0; two tokens at one position stand for the same place.
/// A result other than 0 ends the work.
typedef int (*spotlight_token)(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated);

/// Cuts a text into folded tokens; `start` and `end` are byte offsets in the text.
/// Returns what the last call of `take` returned.
int spotlight_tokenize(
  const char *text, int32_t length, int flags, void *context, spotlight_token take);

/// What ranking needs to know of a document; entity 0 marks a number that is not in use.
struct spotlight_document {
  int64_t object;
  uint32_t length;
  uint16_t entity;
};

/// A document that was found.
struct spotlight_hit {
  double score;
  int64_t document;
};

/// One search: what `cordial_hit` reads and what it collects. The caller owns all of it.
struct spotlight_search {
  /// By document number.
  const struct spotlight_document *documents;
  int64_t documentCount;
  /// How many documents are alive, and how many tokens they have together.
  int64_t aliveCount;
  int64_t aliveTokens;
  /// Weights by entity, then column.
  const double *weights;
  int32_t columnCount;
  int32_t entityCount;
  /// By entity: whether its documents are wanted.
  const bool *wanted;
  /// Documents that are left out, ascending.
  const int64_t *excluded;
  int64_t excludedCount;
  /// The best hits, worst on top of the heap, until `spotlight_sort`.
  struct spotlight_hit *hits;
  int32_t hitCount;
  int32_t hitMax;
  /// How many documents matched.
  int64_t total;
  /// Inverse document frequencies by phrase, filled at the first document.
  double *frequencies;
  int32_t phraseCount;
};

/// Binds a search to a parameter of a statement, for `cordial_hit(table, ?)`.
int spotlight_bind(sqlite3_stmt *statement, int index, struct spotlight_search *search);

/// Puts the hits in order: best score first, then entity, then object.
void spotlight_sort(struct spotlight_search *search);

/// Gives back what a search took while it ran.
void spotlight_finish(struct spotlight_search *search);

#endif
