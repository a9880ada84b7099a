#ifndef WORDS_H
#define WORDS_H

#include "CSpotlight.h"

/// Collects a word, unless it is known to be collected. Returns an SQLite result code.
int words_collect(struct spotlight_words *words, const char *word, int32_t size);

#endif
