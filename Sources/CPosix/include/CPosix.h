// CPosix: checks whether epoll can wait for a descriptor.
//
// Must not know: Swift.

#ifndef CPOSIX_H
#define CPOSIX_H

#include <stdbool.h>

/// Returns whether epoll accepts a descriptor: a pipe, a terminal or a socket, not a regular file.
bool posix_is_pollable(int descriptor);

#endif
