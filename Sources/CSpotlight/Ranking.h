#ifndef RANKING_H
#define RANKING_H

#include <sqlite3.h>

/// Registers `cordial_hit`, `cordial_word` and `cordial_explain`; returns an SQLite result code.
int spotlight_register_ranking(fts5_api *api);

#endif
