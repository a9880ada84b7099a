// CGMP: the integers of any size of GMP, which needs libgmp-dev to compile.
//
// Must not know: Swift.

#include <gmp.h>
