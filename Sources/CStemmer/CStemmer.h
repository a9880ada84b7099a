// CStemmer: Snowball's stemmers from libstemmer. Compiling this module needs libstemmer-dev.
//
// Must not know: Swift.

#include <libstemmer.h>
