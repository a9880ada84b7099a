// CWords: FTS5 with the words of ICU alone, a peer of the index in the benchmarks.

#ifndef CWORDS_H
#define CWORDS_H

#include <sqlite3.h>

/// Registers the tokenizer `icu_words` on a connection; returns an SQLite result code.
int words_register(sqlite3 *connection);

#endif
