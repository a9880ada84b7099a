// CPosix: whether a descriptor can be waited for.
//
// Must not know: Swift.

#ifndef CPOSIX_H
#define CPOSIX_H

#include <stdbool.h>

/// Whether epoll takes this descriptor: pipes, terminals and sockets, but no regular file.
bool posix_is_pollable(int descriptor);

#endif
