// CPosix: what `import Glibc` hides behind _GNU_SOURCE. Credentials of a peer, and whether a
// descriptor can be waited for.
//
// Must not know: Swift.

#ifndef CPOSIX_H
#define CPOSIX_H

#include <stdbool.h>
#include <sys/types.h>

/// The user at the other end of a connected Unix socket, as of its connect().
/// Returns 0, or the errno of getsockopt.
int posix_peer_user(int socket, uid_t *user);

/// Whether epoll takes this descriptor: pipes, terminals and sockets, but no regular file.
bool posix_is_pollable(int descriptor);

#endif
