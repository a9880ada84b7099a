#define _GNU_SOURCE
#include "CPosix.h"

#include <malloc.h>
#include <signal.h>
#include <spawn.h>
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

int posix_start(
  const char *program, char *const *arguments, int input, int output, int *process
) {
  posix_spawn_file_actions_t actions;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure) return failure;
  posix_spawnattr_t attributes;
  failure = posix_spawnattr_init(&attributes);
  if (failure) {
    posix_spawn_file_actions_destroy(&actions);
    return failure;
  }
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  failure = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (!failure) {
    failure = posix_spawnp(process, program, &actions, &attributes, arguments, environ);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

void posix_return_free_memory(void) { malloc_trim(0); }

void posix_keep_little_free_memory(int arenas, int own_bytes, int kept_bytes) {
  mallopt(M_ARENA_MAX, arenas);
  mallopt(M_MMAP_THRESHOLD, own_bytes);
  mallopt(M_TRIM_THRESHOLD, kept_bytes);
}
