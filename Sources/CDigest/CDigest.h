// CDigest: SHA-256 from libmd. Compiling this module needs libmd-dev.
//
// Must not know: Swift.

#include <sha2.h>
