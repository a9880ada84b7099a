#include "CHeap.h"

#include <malloc.h>

size_t heap_bytes(void) {
  struct mallinfo2 facts = mallinfo2();
  return facts.uordblks + facts.hblkhd;
}
