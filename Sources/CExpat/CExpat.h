// CExpat: the XML parser Expat, which needs libexpat1-dev to compile.
//
// Must not know: Swift.

#include <expat.h>
