#ifndef WORDS_H
#define WORDS_H

#include "CSpotlight.h"

/// Collects a word, unless the collection already has it; returns an SQLite result code.
int words_collect(struct spotlight_words *words, const char *word, int32_t size);

/// Counts the tokens of a text of a document.
void words_count(struct spotlight_words *words, int64_t count);

#endif
