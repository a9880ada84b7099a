#ifndef WORD_RANKING_H
#define WORD_RANKING_H

#include <sqlite3.h>

/// Implements `cordial_word(table, search)`, which ranks all documents of a query at the first row.
///
/// The query has a single list of alternatives without mistakes. An SQL row for each document would
/// double the cost.
void word_rank(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values);

#endif
