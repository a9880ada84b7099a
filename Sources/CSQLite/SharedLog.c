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
/// The action of the process for SIGBUS before `sqlite_survive_lost_pages`.
static struct sigaction former_action;
static uintptr_t page_bytes = 4096;

// MARK: Lost pages. The functions of this part are safe in a signal handler.

/// The bits of an entry of Linux's pagemap.
enum { is_present_bit = 63, is_swapped_bit = 62, is_of_file_bit = 61 };

static int has_bit(uint64_t entry, int bit) { return (int)(entry >> bit & 1); }

/// Returns whether any of `count` pages exists and does not belong to a file; `unknown` if the
/// system does not report this.
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

/// The state of parsing a line of `/proc/self/maps` byte by byte.
struct maps_line {
  uintptr_t start, end;
  int field;
  char name_end[14];
};

/// The end of the name of a file by which SQLite shares a log, and the end that `/proc/self/maps`
/// shows if this file was removed.
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
      // After this write, the page exists for `has_own_page`.
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
    sigaction(signal, &former_action, 0);
    // A faulting instruction runs again and raises the signal again, but a sent signal must be
    // repeated.
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
  return sigaction(SIGBUS, &action, &former_action);
}

int sqlite_has_lost_pages(void) {
  return atomic_load_explicit(&lost_page_count, memory_order_relaxed) != 0;
}

// MARK: The log

/// Sets `part` to the part of the index with a number; parts are numbered from 0. Sets `part` to
/// null if the connection does not share this part.
static int get_part(sqlite3_file *database, int number, volatile void **part) {
  const sqlite3_io_methods *methods = database->pMethods;
  *part = 0;
  if (!methods || methods->iVersion < 2 || !methods->xShmMap) return SQLITE_OK;
  int code = methods->xShmMap(database, number, index_part_bytes, 0, part);
  // A part that cannot be written can still be read.
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

enum {
  page_number_count = 4096,
  slot_count = 8192,
  slot_factor = 383,
  index_start_bytes = 136,
  first_count = page_number_count - index_start_bytes / 4,
};

/// Returns whether a part of the index lists a page in a frame from `least` to `most`; the part's
/// frames are numbered from 1.
static int has_page(volatile void *part, int number, uint32_t page, uint32_t least, uint32_t most) {
  const volatile uint32_t *pages =
    (const volatile uint32_t *)part + (number ? 0 : index_start_bytes / 4);
  const volatile uint16_t *slots =
    (const volatile uint16_t *)((const volatile uint32_t *)part + page_number_count);
  uint32_t slot = page * slot_factor & (slot_count - 1);
  for (int i = 0; i < slot_count && slots[slot]; i++, slot = (slot + 1) & (slot_count - 1)) {
    uint32_t index = slots[slot];
    if (index >= least && index <= most && pages[index - 1] == page) return 1;
  }
  return 0;
}

/// Returns whether the index lists a page in a frame; frames are numbered from 1.
static int has_frame(sqlite3_file *database, uint32_t frame, uint32_t page, int *code) {
  uint32_t number = frame <= first_count ? 0 : 1 + (frame - first_count - 1) / page_number_count;
  uint32_t index = frame <= first_count ? frame : (frame - first_count - 1) % page_number_count + 1;
  volatile void *part;
  *code = get_part(database, (int)number, &part);
  return *code == SQLITE_OK && part && has_page(part, (int)number, page, index, index);
}

/// Returns whether the index lists a page in any of the first `count` frames.
static int has_page_in_log(sqlite3_file *database, uint32_t page, uint32_t count, int *code) {
  uint32_t before = 0;
  for (int number = 0; before < count; number++) {
    uint32_t capacity = number ? page_number_count : first_count;
    volatile void *part;
    *code = get_part(database, number, &part);
    if (*code != SQLITE_OK || !part) return 0;
    uint32_t most = count - before < capacity ? count - before : capacity;
    if (has_page(part, number, page, 1, most)) return 1;
    before += capacity;
  }
  return 0;
}

/// Checks that the log has the pages that are missing at the end of the database's file. The
/// function checks the first missing page, and some later pages at equal distances.
///
/// After a checkpoint of the whole log, no page of the file is missing.
static int check_length(
  sqlite3_file *database, const struct index_header *header, volatile void *part, int64_t page) {
  // SQLite locks bytes at this offset, and writes no page there.
  enum { copied_count_offset = 96, locked_place = 1 << 30, checked_count = 16 };
  sqlite3_int64 bytes;
  // Another connection may run a checkpoint now. It lengthens the file before it counts the copied
  // pages, so the count is read first.
  uint32_t copied = ((const volatile uint32_t *)part)[copied_count_offset / 4];
  atomic_thread_fence(memory_order_acquire);
  int code = database->pMethods->xFileSize(database, &bytes);
  if (code != SQLITE_OK || bytes >= header->page_count * page) return code;
  if (copied >= header->frame_count) return SQLITE_CORRUPT;
  int64_t first = bytes / page;
  int64_t distance = (header->page_count - first) / checked_count + 1;
  for (int64_t i = first; i < header->page_count; i += distance) {
    if (i == locked_place / page) continue;
    int found = has_page_in_log(database, (uint32_t)i + 1, header->frame_count, &code);
    if (code != SQLITE_OK || !found) return code != SQLITE_OK ? code : SQLITE_CORRUPT;
  }
  return SQLITE_OK;
}

static uint32_t little_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

/// The checksum of a log from its header up to an offset, in two sums.
struct checksum {
  uint32_t first, second;
  int is_big_endian;
};

/// Adds bytes to a checksum, in pairs of 32-bit numbers.
static void add_bytes(struct checksum *sum, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i + 8 <= count; i += 8) {
    uint32_t one = sum->is_big_endian ? big_endian(bytes + i) : little_endian(bytes + i);
    uint32_t two = sum->is_big_endian ? big_endian(bytes + i + 4) : little_endian(bytes + i + 4);
    sum->first += one + sum->second;
    sum->second += two + sum->first;
  }
}

/// Returns whether a checksum equals the checksum that is stored at `bytes`.
static int is_stored_at(const uint8_t *bytes, struct checksum sum) {
  return big_endian(bytes) == sum.first && big_endian(bytes + 4) == sum.second;
}

/// Adds the content of a page to a checksum.
static int add_page(struct checksum *sum, sqlite3_file *log, int64_t offset, int64_t count) {
  uint8_t buffer[4096];
  int code = SQLITE_OK;
  while (code == SQLITE_OK && count > 0) {
    int bytes = count < (int64_t)sizeof buffer ? (int)count : (int)sizeof buffer;
    code = log->pMethods->xRead(log, buffer, bytes, offset);
    if (code == SQLITE_OK) add_bytes(sum, buffer, (size_t)bytes);
    offset += bytes;
    count -= bytes;
  }
  return code;
}

/// Returns whether the header of a log is valid and belongs to an index.
static int is_header(const uint8_t *start, const struct index_header *header, int64_t page) {
  enum { magic = 0x377f0682 };
  struct checksum sum = {.is_big_endian = start[3] & 1};
  add_bytes(&sum, start, 24);
  return (big_endian(start) & ~1u) == magic && big_endian(start + 4) == index_version &&
         big_endian(start + 8) == page && is_stored_at(start + 24, sum) &&
         !memcmp(start + 16, header->salt, 8);
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
  // The open transaction has initialized the index.
  if (!header.is_initialized) return SQLITE_CORRUPT;
  if (header.version != index_version) return SQLITE_OK;
  int64_t content_bytes = (header.page_bytes & 0xfe00) + ((header.page_bytes & 1) << 16);
  if (header.page_count) code = check_length(database, &header, part, content_bytes);
  if (code != SQLITE_OK || !header.frame_count) return code;
  code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK || !log->pMethods) return code;

  int64_t frame_bytes = frame_header_bytes + content_bytes;
  int64_t last = log_header_bytes + (int64_t)(header.frame_count - 1) * frame_bytes;
  sqlite3_int64 log_bytes;
  uint8_t start[log_header_bytes], frame[frame_header_bytes];
  code = log->pMethods->xFileSize(log, &log_bytes);
  if (code != SQLITE_OK) return code;
  if (log_bytes < last + frame_bytes) return SQLITE_CORRUPT;
  code = log->pMethods->xRead(log, start, sizeof start, 0);
  if (code == SQLITE_OK) code = log->pMethods->xRead(log, frame, sizeof frame, last);
  if (code != SQLITE_OK) return code;
  int agrees = is_header(start, &header, content_bytes) && !memcmp(frame + 8, header.salt, 8) &&
               big_endian(frame + 16) == header.frame_checksum[0] &&
               big_endian(frame + 20) == header.frame_checksum[1];
  // The checksum of a frame continues the checksum of the frame before it, or of the log's header.
  int64_t before = header.frame_count == 1 ? 24 : last - frame_bytes + 16;
  uint8_t seed[8];
  code = log->pMethods->xRead(log, seed, sizeof seed, before);
  if (code != SQLITE_OK) return code;
  struct checksum sum = {big_endian(seed), big_endian(seed + 4), start[3] & 1};
  add_bytes(&sum, frame, 8);
  if (agrees) code = add_page(&sum, log, last + frame_header_bytes, content_bytes);
  if (code != SQLITE_OK) return code;
  agrees = agrees && is_stored_at(frame + 16, sum);
  if (agrees) agrees = has_frame(database, header.frame_count, big_endian(frame), &code);
  return code != SQLITE_OK || agrees ? code : SQLITE_CORRUPT;
}

int sqlite_keep_log(struct sqlite3 *connection, int keeps) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}
