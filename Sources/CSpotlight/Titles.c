#include "Titles.h"
#include "Hits.h"

void title_add(struct title *title, int size, int offset) {
  // FTS5 computes offsets from differences, which can have any value in a damaged index.
  if (offset < 0 || size <= 0) return;
  for (int place = offset; place < 64 && place - offset < size; place++) {
    title->covered |= (uint64_t)1 << place;
  }
  if (offset != title->expected) return;
  if (size > title->there) title->there = size;
  if (!title->isPrefix && size > title->finished) title->finished = size;
}

double title_factor(
  const struct spotlight_search *search, int64_t document, uint64_t covered, bool begins,
  bool isFinished
) {
  int length = documentAt(search, document)->titleLength;
  if (covered == 0 || length == 0) return 1;
  int count = __builtin_popcountll(covered);
  if (count >= length) return begins ? isFinished ? 4 : 3 : 1.5;
  return 1 + 0.5 * (double)count / length + (begins ? 0.5 : 0);
}
