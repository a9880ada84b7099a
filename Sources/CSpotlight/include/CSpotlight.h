// CSpotlight: the tokenizer and the ranking function that FTS5 calls.
//
// Must not know: Swift, the meaning of entities.
//
// What always holds:
// 1. One function tokenizes documents, queries and highlights, so that their tokens agree.
// 2. Any bytes are a document: invalid UTF-8 separates words, and the rest is still indexed.
// 3. No function keeps state between connections, except in structures that the caller passes.

#ifndef CSPOTLIGHT_H
#define CSPOTLIGHT_H

#include <CInterruption.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version of the rules in `spotlight_tokenize`. An index with another version is rebuilt.
#define SPOTLIGHT_TOKENIZER_VERSION 8

/// The distinct words of the documents that a writer of the index inserts.
struct spotlight_words;

/// The maximum number of code points of a collected word.
#define SPOTLIGHT_WORD_LETTERS_MAX 64

/// Creates an empty collection, or returns NULL if memory is short.
struct spotlight_words *spotlight_words_create(void);

void spotlight_words_free(struct spotlight_words *words);

/// Forgets which words were collected, so that all words are collected again.
void spotlight_words_forget(struct spotlight_words *words);

/// Returns whether a word of a document is collected: it has no digit, and 2 to 64 letters, or it
/// is a letter of a script without spaces.
bool spotlight_is_collected(const char *word, int32_t size);

/// Returns the words that were collected since the last call, each followed by
/// `SPOTLIGHT_TOKEN_END`, and their length in bytes.
///
/// A word may occur repeatedly. The words are valid until the next document.
const char *spotlight_words_take(struct spotlight_words *words, int32_t *size);

/// Returns the number of tokens of the documents since the last call.
int64_t spotlight_words_take_count(struct spotlight_words *words);

/// Distinct words in the order of their bytes, without separators.
struct spotlight_vocabulary {
  const char *bytes;
  /// The end offset of each word.
  const uint32_t *ends;
  /// The count of bytes that each word shares with the beginning of the word before it, at most
  /// 65,535.
  const uint16_t *shared;
  /// The blocks of words in which three bytes occur, for each of SPOTLIGHT_TRIPLES_MAX hashes of
  /// three bytes: a bitmap of `spotlight_bitmap_size` elements.
  const uint64_t *triples;
  int64_t count;
};

enum { SPOTLIGHT_TRIPLES_MAX = 4096 };

/// Returns the count of 64-bit elements in the bitmap of the blocks of so many words.
int64_t spotlight_bitmap_size(int64_t count);

/// Fills `shared` and `triples`, which must be zero, of so many words.
void spotlight_describe_words(
  const char *bytes, const uint32_t *ends, int64_t count, uint16_t *shared, uint64_t *triples);

/// Finds the words that contain a part after their first letter.
///
/// Writes the indices of these words to `found`, the shorter words first, then in their order.
/// `foundMax` is the room in `found`, at least the count of all words. Returns the number of the
/// indices.
int64_t spotlight_words_containing(
  const struct spotlight_vocabulary *words, const char *part, int32_t size, int64_t *found,
  int64_t foundMax);

/// Receives a word with typing mistakes: its index, the length in bytes of the part of the word
/// that was compared, and the number of mistakes.
typedef void (*spotlight_near)(void *context, int64_t index, int32_t size, int32_t mistakes);

/// Finds the words that differ from typed letters by typing mistakes, in the order of the words.
///
/// A mistake is an extra letter, a missing letter, a wrong letter, or two adjacent letters in the
/// wrong order; no letter has two mistakes. With `isPrefix`, beginnings of words are compared, and
/// a word of the list stands for all words with the same beginning. `letterCount` is at most
/// SPOTLIGHT_WORD_LETTERS_MAX, and `mistakesMax` at most 2.
void spotlight_near_words(
  const struct spotlight_vocabulary *words, const uint32_t *letters, int32_t letterCount,
  int32_t mistakesMax, bool isPrefix, void *context, spotlight_near take);

/// Registers the tokenizer `cordial` and the ranking functions on a connection.
///
/// The tokenizer collects the words of documents in `words`, which may be NULL and must outlive the
/// connection's statements. Returns an SQLite result code.
int spotlight_register(sqlite3 *connection, struct spotlight_words *words);

/// Returns the versions of ICU, of Unicode and of the collation with which words are folded.
const char *spotlight_unicode_version(void);

enum {
  /// The mask of the query flags, which say how far the words of a query are divided.
  ///
  /// A query has one token at each position: `c++` is only this word, and not also `c`.
  SPOTLIGHT_QUERY = 7,
  /// `HTTPServer2` is `http`, `server`, `2`.
  SPOTLIGHT_QUERY_PARTS = 1,
  /// `HTTPServer2` is `httpserver`, `2`.
  SPOTLIGHT_QUERY_SEGMENTS = 2,
  /// `HTTPServer2` is one word.
  SPOTLIGHT_QUERY_WORDS = 3,
  /// `foo-bar` is one word, `foobar`.
  SPOTLIGHT_QUERY_WHOLES = 4,
  /// The text is a document, in which no token is marked as the start of a word.
  SPOTLIGHT_UNMARKED = 8,
};

/// The byte, a caret, before a one-letter token of a script without spaces at the start of a word.
///
/// A query for the letter searches for both tokens, so that it finds any part of a word.
#define SPOTLIGHT_START_MARK 0x5E

/// Returns whether a token begins with a letter that is a token of its own.
bool spotlight_is_single(const char *token, int32_t length);

/// Returns whether a token consists of punctuation alone.
bool spotlight_is_punctuation(const char *token, int32_t length);

/// The byte between two tokens of a phrase in a MATCH expression, whose texts are already tokens.
#define SPOTLIGHT_TOKEN_END 0x1F

/// The byte between two alternative tokens at one offset of such a phrase.
#define SPOTLIGHT_TOKEN_OR 0x1E

/// Receives one token.
///
/// Positions count from 0. A colocated token has the position of the previous token. In a query,
/// only symbols are colocated, and a symbol may be the first token. A result other than 0 stops the
/// tokenizer.
typedef int (*spotlight_token)(
  void *context, const char *token, int32_t length, int32_t start, int32_t end, bool colocated);

/// Splits a text into folded tokens; `start` and `end` are byte offsets in the text.
/// Returns the result of the last call of `take`.
int spotlight_tokenize(
  const char *text, int32_t length, int flags, void *context, spotlight_token take);

/// The number of low bits of a document number that select a document in its chunk.
#define SPOTLIGHT_CHUNK_BITS 12

/// Returns the number of token positions that a document has for a text.
int64_t spotlight_token_count(const char *text, int32_t length);

/// The data of a document for ranking.
struct spotlight_document {
  int64_t object;
  uint32_t length;
  uint16_t entity;
  /// The number of tokens of the display name, at most 255.
  uint16_t titleLength;
};

/// A part of an archive of documents that is being read.
struct spotlight_archive {
  const uint8_t *bytes;
  int64_t size;
  /// The offset of the next byte to read.
  int64_t at;
  /// The number of documents that are not read yet.
  int64_t left;
  /// The number of the next document, and the object of the previous document.
  int64_t number;
  uint64_t object;
  /// A number that is greater than the numbers of all documents.
  int64_t numbersEnd;
  /// Whether the index has documents of an entity, by entity; C code uses entities as indices.
  const bool *indexed;
  int64_t entityCount;
  int32_t boostCount;
  /// The number of tokens of the documents that were read.
  int64_t tokens;
};

/// Reads the number of the next document. Returns false for a damaged archive.
bool spotlight_archive_next(struct spotlight_archive *archive);

/// Reads the documents of one chunk into the chunk's data, from the document whose number was read
/// last.
///
/// `alive` has a bit for each document of the chunk. If documents remain, the function also reads
/// the number of the next document. Returns false for a damaged archive.
bool spotlight_archive_read(
  struct spotlight_archive *archive, struct spotlight_document *documents, double *boosts,
  uint64_t *alive);

/// A phrase of a MATCH expression.
struct spotlight_phrase {
  /// The index of the query's word that the phrase stands for, below 64.
  int32_t word;
  /// The number of typing mistakes by which the phrase differs from the word.
  int32_t mistakes;
  /// Whether the last token of the phrase is the beginning of a word.
  bool isPrefix;
};

/// The rule by which the value of an attribute changes the scores of an entity's objects.
struct spotlight_boost {
  /// The weight; 0 for no change.
  double weight;
  /// The half-life of a date in milliseconds; 0 for a number.
  double halfLife;
};

/// The share of a phrase in the score of one document.
struct spotlight_share {
  /// The number of times that the document has the phrase.
  int64_t count;
  /// The number of live documents with the phrase.
  int64_t documents;
  /// The greatest score that the phrase can add, and the score that it adds.
  double bound, score;
  /// The score that the phrase would add if its frequency were 1.
  double plain;
};

/// A matching document with its score.
struct spotlight_hit {
  double score;
  int64_t document;
  /// Whether the document has some word of the query only in a form or with typing mistakes.
  bool isMistaken;
  /// A bit for each word of the query that the document has; `cordial_word` sets none.
  uint64_t words;
};

/// One search: the input of the ranking functions, and their results.
///
/// The caller owns the memory, except for `frequencies` and `documentCounts`, which
/// `spotlight_finish` frees.
struct spotlight_search {
  /// The chunks of the documents, by document number.
  const struct spotlight_document *const *documents;
  int64_t documentCount;
  /// A bit for each document number, which says whether the document is live.
  const uint64_t *alive;
  /// The number of live documents, and the number of their tokens.
  int64_t aliveCount;
  int64_t aliveTokens;
  /// Weights by entity, then column.
  const double *weights;
  int32_t columnCount;
  int32_t entityCount;
  /// The column of the display name, by entity; -1 for an entity without a display name.
  const int32_t *titleColumns;
  /// The values that change scores, in chunks with `boostCount` values for each document, NaN for a
  /// missing value; and their rules, `boostCount` for each entity.
  const double *const *boostValues;
  const struct spotlight_boost *boosts;
  int32_t boostCount;
  /// The time from which the age of dates is measured, in milliseconds since 1970.
  double now;
  /// Whether the search includes the documents of an entity, by entity.
  const bool *wanted;
  /// The numbers of excluded documents, ascending.
  const int64_t *excluded;
  int64_t excludedCount;
  /// The numbers of the objects to which a predicate limits the search, ascending, by entity; NULL
  /// for a search without a predicate.
  const int64_t *const *kept;
  const int64_t *keptCounts;
  /// The same objects as a bitmap of their numbers, by entity; NULL for an entity whose numbers are
  /// too far apart, for which `kept` is searched.
  const uint64_t *const *keptBits;
  /// The phrases in the order of the expression, without the excluded phrases, which come last.
  const struct spotlight_phrase *phrases;
  int32_t describedCount;
  /// Whether a matching document needs words of at least `leastWeight` in sum, whether or not they
  /// have typing mistakes; and the weights of the query's words.
  bool weighsWords;
  double leastWeight;
  double wordWeights[64];
  /// A lower bound of the scores of documents with all words as they were typed, infinite if there
  /// are none; and an upper bound of the scores of documents with typing mistakes.
  double exactMin;
  double mistakenMax;
  /// The number of postings that were read: of each phrase, and of the matching documents.
  int64_t readCount;
  /// The number of postings of live documents that were not read, because they were counted
  /// earlier.
  int64_t skippedCount;
  /// The flag that ends the search with SQLITE_INTERRUPT; NULL for none.
  struct interruption *interruption;
  /// The shares of the phrases in the score of the row for which `cordial_explain` was called.
  struct spotlight_share *shares;
  /// The best hits: a heap with the worst hit on top, until `spotlight_sort` sorts them.
  struct spotlight_hit *hits;
  int32_t hitCount;
  int32_t hitMax;
  /// The number of matching documents; the search looks at no further documents above `totalMax`.
  int64_t total;
  int64_t totalMax;
  /// The inverse document frequencies by phrase, which are computed at the first document, and the
  /// document counts behind them.
  double *frequencies;
  int64_t *documentCounts;
  int32_t phraseCount;
  /// The part of BM25 that depends on the length of a document: `lengthBase`, and `lengthFactor`
  /// for each token.
  double lengthBase, lengthFactor;
};

/// Binds a search to a parameter of a statement, for `cordial_hit(table, ?)`,
/// `cordial_word(table, ?)`, `cordial_count(table, ?)` and `cordial_explain(table, ?)`.
int spotlight_bind(sqlite3_stmt *statement, int index, struct spotlight_search *search);

/// Sets the document count of each described phrase, so that the ranking does not count at the
/// first document.
///
/// Returns an SQLite result code.
int spotlight_set_counts(struct spotlight_search *search, const int64_t *counts);

/// Sets the document count of each word of the query, which all phrases of the word have in the
/// ranking.
///
/// Returns an SQLite result code.
int spotlight_set_word_counts(struct spotlight_search *search, const int64_t *counts);

/// Returns the inverse document frequency of a word that is in `count` of `all` documents.
double spotlight_frequency(int64_t count, int64_t all);

/// Sets the weights of the query's words and their least sum in a matching document.
void spotlight_set_weights(
  struct spotlight_search *search, const double *weights, int32_t count, double least);

/// Sorts the hits: those without mistakes first, then best score first, then by entity, then by
/// object.
void spotlight_sort(struct spotlight_search *search);

/// Frees the memory that a search allocated while it ran.
void spotlight_finish(struct spotlight_search *search);

#endif
