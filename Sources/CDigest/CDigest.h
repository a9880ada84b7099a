// CDigest: the SHA-256 of libmd, which needs libmd-dev to compile.
//
// Must not know: Swift.

#include <sha2.h>
