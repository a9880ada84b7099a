#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int posix_peer_user(int socket, uid_t *user) {
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return errno;
  *user = credentials.uid;
  return 0;
}

bool posix_is_pollable(int descriptor) {
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return false;
  struct epoll_event event = {.events = EPOLLIN};
  bool taken = epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) == 0;
  close(set);
  return taken;
}
