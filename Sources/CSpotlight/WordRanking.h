#ifndef WORD_RANKING_H
#define WORD_RANKING_H

#include <sqlite3.h>

/// Implements `cordial_word(table, search)`, which ranks all documents of a query of one word, or
/// of any of several words, without mistakes, once for the first row. A row of SQL for each
/// document costs as much again.
void word_rank(
  const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
  sqlite3_value **values);

#endif
