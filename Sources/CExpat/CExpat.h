// CExpat: the XML parser Expat. Compiling this module needs libexpat1-dev.
//
// Must not know: Swift.

#include <expat.h>
