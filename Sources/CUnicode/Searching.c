// `memmem` is an extension of glibc.
#define _GNU_SOURCE
#include <string.h>

#include "CUnicode.h"

bool unicode_contains(
  const void *text, size_t length, const void *part, size_t partLength
) {
  return memmem(text, length, part, partLength) != NULL;
}
