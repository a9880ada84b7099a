#define _GNU_SOURCE
#include "CSQLite.h"

#include <errno.h>
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

// MARK: Lost pages. The functions of this part are safe in a signal handler.

/// The bits of an entry of Linux's pagemap.
enum { is_present_bit = 63, is_swapped_bit = 62, is_of_file_bit = 61 };

static int has_bit(uint64_t entry, int bit) { return (int)(entry >> bit & 1); }

/// Returns whether one of some pages exists, and is not of a file; `unknown` where the system does
/// not say.
static int has_own_page(const volatile void *first, size_t count, int unknown) {
  enum { count_max = index_part_bytes / 4096 };
  uint64_t entries[count_max];
  ssize_t bytes = (ssize_t)(count * sizeof entries[0]);
  int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pages < 0) return unknown;
  off_t offset = (off_t)((uintptr_t)first / page_bytes * sizeof entries[0]);
  ssize_t read = pread(pages, entries, (size_t)bytes, offset);
  close(pages);
  if (read != bytes) return unknown;
  for (size_t i = 0; i < count; i++) {
    int exists = has_bit(entries[i], is_present_bit) || has_bit(entries[i], is_swapped_bit);
    if (exists && !has_bit(entries[i], is_of_file_bit)) return 1;
  }
  return 0;
}

/// A line of `/proc/self/maps`, byte by byte.
struct maps_line {
  uintptr_t start, end;
  int field;
  char name_end[14];
};

/// The end of the name of a file by which SQLite shares a log, and that of a removed one.
static const char shared_name[4] = "-shm", removed_name[14] = "-shm (deleted)";

static void add_to_line(struct maps_line *line, char byte) {
  int digit = byte >= '0' && byte <= '9' ? byte - '0' : byte >= 'a' && byte <= 'f' ? byte - 87 : -1;
  if (line->field == 0) {
    if (digit >= 0) line->start = line->start << 4 | (uintptr_t)digit;
    else line->field = 1;
  } else if (line->field == 1) {
    if (digit >= 0) line->end = line->end << 4 | (uintptr_t)digit;
    else line->field = 2;
  } else {
    memmove(line->name_end, line->name_end + 1, sizeof line->name_end - 1);
    line->name_end[sizeof line->name_end - 1] = byte;
  }
}

/// Returns whether an address is in a mapped file by which SQLite shares a log.
static int is_of_shared_log(uintptr_t address) {
  char buffer[1024];
  struct maps_line line = {0};
  int found = 0;
  int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return 0;
  ssize_t count;
  while (!found && (count = read(maps, buffer, sizeof buffer)) > 0) {
    for (ssize_t i = 0; i < count && !found; i++) {
      if (buffer[i] != '\n') {
        add_to_line(&line, buffer[i]);
        continue;
      }
      const char *end = line.name_end;
      int is_shared = !memcmp(end + 10, shared_name, sizeof shared_name) ||
                      !memcmp(end, removed_name, sizeof removed_name);
      found = is_shared && line.start <= address && address < line.end;
      line = (struct maps_line){0};
    }
  }
  close(maps);
  return found;
}

static int replace_page(void *page) {
  static atomic_flag is_busy = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire)) {}
  int is_replaced;
  if (is_of_shared_log((uintptr_t)page)) {
    int protection = PROT_READ | PROT_WRITE, flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
    is_replaced = mmap(page, page_bytes, protection, flags, -1, 0) != MAP_FAILED;
    if (is_replaced) {
      // A page that was never written does not exist for `has_own_page`.
      *(volatile char *)page = 0;
      atomic_fetch_add(&lost_page_count, 1);
    }
  } else {
    // Another thread may have replaced the page.
    is_replaced = has_own_page(page, 1, 0);
  }
  atomic_flag_clear_explicit(&is_busy, memory_order_release);
  return is_replaced;
}

static void handle_lost_page(int signal, siginfo_t *info, void *context) {
  (void)context;
  int error = errno;
  void *page = (void *)((uintptr_t)info->si_addr & ~(page_bytes - 1));
  if (info->si_code != BUS_ADRERR || !replace_page(page)) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, 0);
    // An instruction runs again, and ends the process; a signal that was sent does not.
    if (info->si_code <= 0) raise(signal);
  }
  errno = error;
}

int sqlite_survive_lost_pages(void) {
  page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct sigaction action = {
    .sa_sigaction = handle_lost_page,
    .sa_flags = SA_SIGINFO | SA_RESTART,
  };
  return sigaction(SIGBUS, &action, 0);
}

int sqlite_has_lost_pages(void) {
  return atomic_load_explicit(&lost_page_count, memory_order_relaxed) != 0;
}

// MARK: The log

/// Sets the part of the index with a number from 0; null where the connection shares no such part.
static int get_part(sqlite3_file *database, int number, volatile void **part) {
  const sqlite3_io_methods *methods = database->pMethods;
  *part = 0;
  if (!methods || methods->iVersion < 2 || !methods->xShmMap) return SQLITE_OK;
  int code = methods->xShmMap(database, number, index_part_bytes, 0, part);
  // The part can be read where it cannot be written.
  return (code & 0xff) == SQLITE_READONLY ? SQLITE_OK : code;
}

int sqlite_check_index_of_log(struct sqlite3 *connection) {
  if (!sqlite_has_lost_pages()) return SQLITE_OK;
  sqlite3_file *database;
  volatile void *part;
  size_t count = page_bytes < index_part_bytes ? index_part_bytes / page_bytes : 1;
  int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &database);
  if (code == SQLITE_OK) code = get_part(database, 0, &part);
  for (int i = 1; code == SQLITE_OK && part; i++) {
    if (has_own_page(part, count, 1)) return SQLITE_CORRUPT;
    code = get_part(database, i, &part);
  }
  return code;
}

static uint32_t big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/// Returns whether the index finds a frame, numbered from 1, by the number of its page.
static int has_frame(sqlite3_file *database, uint32_t frame, uint32_t page, int *code) {
  enum {
    page_number_count = 4096,
    slot_count = 8192,
    slot_factor = 383,
    first_count = page_number_count - 136 / 4,
  };
  uint32_t number = frame <= first_count ? 0 : 1 + (frame - first_count - 1) / page_number_count;
  uint32_t index = frame <= first_count ? frame : (frame - first_count - 1) % page_number_count + 1;
  volatile void *part;
  *code = get_part(database, (int)number, &part);
  if (*code != SQLITE_OK || !part) return 0;
  const volatile uint32_t *pages = (const volatile uint32_t *)part + (number ? 0 : 136 / 4);
  const volatile uint16_t *slots =
    (const volatile uint16_t *)((const volatile uint32_t *)part + page_number_count);
  if (pages[index - 1] != page) return 0;
  uint32_t slot = page * slot_factor & (slot_count - 1);
  for (int i = 0; i < slot_count && slots[slot]; i++, slot = (slot + 1) & (slot_count - 1)) {
    if (slots[slot] == index) return 1;
  }
  return 0;
}

int sqlite_check_log(struct sqlite3 *connection) {
  sqlite3_file *database, *log;
  volatile void *part;
  int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &database);
  if (code == SQLITE_OK) code = get_part(database, 0, &part);
  if (code != SQLITE_OK || !part) return code;
  struct index_header header;
  memcpy(&header, (const void *)part, sizeof header);
  code = sqlite_check_index_of_log(connection);
  if (code != SQLITE_OK) return code;
  // The transaction has initialized it.
  if (!header.is_initialized) return SQLITE_CORRUPT;
  if (header.version != index_version || !header.frame_count) return SQLITE_OK;
  code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK || !log->pMethods) return code;

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
  if (agrees) agrees = has_frame(database, header.frame_count, big_endian(frame), &code);
  return code != SQLITE_OK || agrees ? code : SQLITE_CORRUPT;
}

int sqlite_keep_log(struct sqlite3 *connection, int keeps) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}
