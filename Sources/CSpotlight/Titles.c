#include "Titles.h"
#include "Hits.h"

struct title title_make(const struct spotlight_search *search, int64_t document) {
  struct title title = {.column = -1, .begins = true};
  const int32_t *columns = search->titleColumns;
  if (columns) title.column = columns[documentAt(search, document)->entity];
  return title;
}

void title_add(struct title *title, int size, int offset) {
  if (size > title->anywhere) title->anywhere = size;
  if (offset == title->expected && size > title->there) title->there = size;
}

void title_end_word(struct title *title) {
  title->covered += title->anywhere;
  title->expected += title->there;
  if (title->there == 0) title->begins = false;
  title->anywhere = 0;
  title->there = 0;
}

double title_factor(
  const struct spotlight_search *search, int64_t document, int covered, bool begins
) {
  int length = documentAt(search, document)->titleLength;
  if (covered == 0 || length == 0) return 1;
  if (covered >= length) return begins ? 3 : 1.5;
  return 1 + 0.5 * (double)covered / length + (begins ? 0.5 : 0);
}
