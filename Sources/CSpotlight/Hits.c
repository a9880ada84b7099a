#include "Hits.h"

bool hits_is_worse(
  const struct spotlight_search *search, struct spotlight_hit a, struct spotlight_hit b
) {
  if (a.isMistaken != b.isMistaken) return a.isMistaken;
  if (a.score != b.score) return a.score < b.score;
  const struct spotlight_document *first = documentAt(search, a.document);
  const struct spotlight_document *second = documentAt(search, b.document);
  if (first->entity != second->entity) return first->entity > second->entity;
  return first->object > second->object;
}

static void siftDown(struct spotlight_search *search, int32_t at, int32_t count) {
  struct spotlight_hit *hits = search->hits;
  for (;;) {
    int32_t worst = at, left = 2 * at + 1;
    if (left < count && hits_is_worse(search, hits[left], hits[worst])) worst = left;
    if (left + 1 < count && hits_is_worse(search, hits[left + 1], hits[worst])) worst = left + 1;
    if (worst == at) return;
    struct spotlight_hit held = hits[at];
    hits[at] = hits[worst];
    hits[worst] = held;
    at = worst;
  }
}

void hits_offer(struct spotlight_search *search, struct spotlight_hit hit) {
  if (search->hitMax == 0) return;
  if (search->hitCount == search->hitMax) {
    if (!hits_is_worse(search, search->hits[0], hit)) return;
    search->hits[0] = hit;
    siftDown(search, 0, search->hitCount);
    return;
  }
  int32_t at = search->hitCount++;
  search->hits[at] = hit;
  while (at > 0 && hits_is_worse(search, search->hits[at], search->hits[(at - 1) / 2])) {
    struct spotlight_hit held = search->hits[at];
    search->hits[at] = search->hits[(at - 1) / 2];
    search->hits[(at - 1) / 2] = held;
    at = (at - 1) / 2;
  }
}

void spotlight_sort(struct spotlight_search *search) {
  for (int32_t count = search->hitCount - 1; count > 0; count--) {
    struct spotlight_hit held = search->hits[0];
    search->hits[0] = search->hits[count];
    search->hits[count] = held;
    siftDown(search, 0, count);
  }
}
