// CGMP: GMP's integers of any size. Compiling this module needs libgmp-dev.
//
// Must not know: Swift.

#include <gmp.h>
