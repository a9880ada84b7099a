// CPosix: checks whether epoll can wait for a descriptor, starts programs, and limits and returns
// free memory.
//
// Must not know: Swift.

#ifndef CPOSIX_H
#define CPOSIX_H

#include <stdbool.h>

/// Returns whether epoll accepts a descriptor: a pipe, a terminal or a socket, not a regular file.
bool posix_is_pollable(int descriptor);

/// Starts a program with two descriptors as its standard input and output. The program inherits the
/// standard error of this process, and no other descriptor. In the program, SIGPIPE has its default
/// action, and no signal is blocked.
/// A name without a slash is searched in PATH. The arguments begin with the name and end with NULL.
/// Returns 0 and sets `*process` to the process ID, or returns the system's error number.
int posix_start(
  const char *program, char *const *arguments, int input, int output, int *process
);

/// Returns the free memory of the process to the system. It may take milliseconds.
void posix_return_free_memory(void);

/// Limits the free memory that the process keeps.
///
/// - arenas: The maximum number of the C library's arenas. Each arena keeps its own free memory.
/// - own_bytes: The length from which a buffer has its own mapping, which returns to the system as
///   soon as the buffer is freed.
/// - kept_bytes: The free memory that an arena keeps at its end, in bytes.
void posix_keep_little_free_memory(int arenas, int own_bytes, int kept_bytes);

#endif
