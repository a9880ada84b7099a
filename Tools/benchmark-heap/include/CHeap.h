// CHeap: how much memory the heap of this process has given out.
//
// Must not know: Swift.

#ifndef CHEAP_H
#define CHEAP_H

#include <stddef.h>

/// Returns the bytes that `malloc` has given out and that are not freed.
size_t heap_bytes(void);

#endif
