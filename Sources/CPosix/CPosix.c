#include "CPosix.h"

#include <sys/epoll.h>
#include <unistd.h>

bool posix_is_pollable(int descriptor) {
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return false;
  struct epoll_event event = {.events = EPOLLIN};
  bool taken = epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) == 0;
  close(set);
  return taken;
}
