#define _GNU_SOURCE
#include "CSQLite.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The formats of this file are those of SQLite's "WAL-mode File Format": the index of the log,
// which the connections share, and the log.

enum {
  index_part_bytes = 32768,
  index_header_bytes = 48,
  index_version = 3007000,
  log_header_bytes = 32,
  frame_header_bytes = 24,
};

struct index_header {
  uint32_t version;
  uint32_t unused;
  uint32_t change;
  uint8_t is_initialized;
  uint8_t has_big_endian_checksums;
  uint16_t page_bytes;
  uint32_t frame_count;
  uint32_t page_count;
  uint32_t frame_checksum[2];
  uint8_t salt[8];
  uint32_t checksum[2];
};

_Static_assert(sizeof(struct index_header) == index_header_bytes, "SQLite's format");

static atomic_int lost_page_count;
static uintptr_t page_bytes = 4096;

// Only functions that are safe in a signal handler.
static void replace_lost_page(int signal, siginfo_t *info, void *context) {
  (void)context;
  void *page = (void *)((uintptr_t)info->si_addr & ~(page_bytes - 1));
  void *replaced = MAP_FAILED;
  if (info->si_code == BUS_ADRERR) {
    replaced = mmap(
      page, page_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
    );
  }
  if (replaced == MAP_FAILED) {
    // The instruction runs again, and ends the process.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, 0);
    return;
  }
  // A page that was never written is not recorded as present.
  *(volatile char *)page = 0;
  atomic_fetch_add(&lost_page_count, 1);
}

int sqlite_survive_lost_pages(void) {
  page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct sigaction action = {
    .sa_sigaction = replace_lost_page,
    .sa_flags = SA_SIGINFO | SA_RESTART,
  };
  return sigaction(SIGBUS, &action, 0);
}

int sqlite_has_lost_pages(void) {
  return atomic_load_explicit(&lost_page_count, memory_order_relaxed) != 0;
}

/// Returns whether a part of the index has pages that are not those of its file.
static int has_lost_page(const volatile void *part) {
  enum { count_max = index_part_bytes / 4096 };
  // Bits of an entry of Linux's pagemap.
  const uint64_t is_present = 1ull << 63, is_swapped = 1ull << 62, is_of_file = 1ull << 61;
  uint64_t entries[count_max];
  size_t count = page_bytes < index_part_bytes ? index_part_bytes / page_bytes : 1;
  ssize_t bytes = (ssize_t)(count * sizeof entries[0]);
  int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pages < 0) return 1;
  off_t offset = (off_t)((uintptr_t)part / page_bytes * sizeof entries[0]);
  ssize_t read = pread(pages, entries, (size_t)bytes, offset);
  close(pages);
  if (read != bytes) return 1;
  for (size_t i = 0; i < count; i++) {
    if (entries[i] & (is_present | is_swapped) && !(entries[i] & is_of_file)) return 1;
  }
  return 0;
}

/// Sets the file that shares the log, and its first part; null where the connection shares none.
static int get_index(
  struct sqlite3 *connection, sqlite3_file **database, volatile void **part
) {
  *part = 0;
  int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, database);
  if (code != SQLITE_OK) return code;
  const sqlite3_io_methods *methods = (*database)->pMethods;
  if (!methods || methods->iVersion < 2) return SQLITE_OK;
  return methods->xShmMap(*database, 0, index_part_bytes, 0, part);
}

int sqlite_check_index_of_log(struct sqlite3 *connection) {
  if (!sqlite_has_lost_pages()) return SQLITE_OK;
  sqlite3_file *database;
  volatile void *part;
  int code = get_index(connection, &database, &part);
  for (int i = 1; code == SQLITE_OK && part; i++) {
    if (has_lost_page(part)) return SQLITE_CORRUPT;
    code = database->pMethods->xShmMap(database, i, index_part_bytes, 0, &part);
  }
  return code;
}

static uint32_t big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

int sqlite_check_log(struct sqlite3 *connection) {
  sqlite3_file *database, *log;
  volatile void *part;
  int code = get_index(connection, &database, &part);
  if (code != SQLITE_OK || !part) return code;
  code = sqlite_check_index_of_log(connection);
  if (code != SQLITE_OK) return code;
  code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK) return code;
  struct index_header header;
  memcpy(&header, (const void *)part, sizeof header);
  if (header.version != index_version || !header.is_initialized) return SQLITE_OK;
  if (!header.frame_count || !log->pMethods) return SQLITE_OK;

  int64_t content_bytes = (header.page_bytes & 0xfe00) + ((header.page_bytes & 1) << 16);
  int64_t frame_bytes = frame_header_bytes + content_bytes;
  int64_t last = log_header_bytes + (int64_t)(header.frame_count - 1) * frame_bytes;
  int64_t log_bytes;
  uint8_t start[log_header_bytes], frame[frame_header_bytes];
  code = log->pMethods->xFileSize(log, &log_bytes);
  if (code != SQLITE_OK) return code;
  if (log_bytes < last + frame_bytes) return SQLITE_CORRUPT;
  code = log->pMethods->xRead(log, start, sizeof start, 0);
  if (code == SQLITE_OK) code = log->pMethods->xRead(log, frame, sizeof frame, last);
  if (code != SQLITE_OK) return code;
  int agrees = !memcmp(start + 16, header.salt, 8) && !memcmp(frame + 8, header.salt, 8) &&
               big_endian(frame + 16) == header.frame_checksum[0] &&
               big_endian(frame + 20) == header.frame_checksum[1];
  return agrees ? SQLITE_OK : SQLITE_CORRUPT;
}

int sqlite_keep_log(struct sqlite3 *connection) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
