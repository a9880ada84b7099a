#ifndef MARKS_H
#define MARKS_H

#include <stdbool.h>
#include <stdint.h>

/// Returns whether folding removes a mark, as it removes accents.
bool marks_is_silent(int32_t c);

#endif
