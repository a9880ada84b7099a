// CSQLite: SQLite's C API, wrappers of its variadic configuration functions, which Swift cannot
// call, a table-valued function for lists of values, and checks of the write-ahead log.
//
// Must not know: Swift, the tables of stores.

#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>

/// Disables SQLite's memory statistics for the whole process. Call it before the first connection
/// is opened. Each allocation takes the one lock of the statistics, so the writer and the index
/// would wait for each other.
/// Returns 0, or SQLite's result code if SQLite is already initialized.
int sqlite_disable_memory_counting(void);

/// Enables or disables triggers on a connection. SQLite recompiles compiled statements when they
/// run next.
/// Returns 0, or SQLite's result code.
int sqlite_enable_triggers(struct sqlite3 *connection, int enabled);

/// Distrusts the schema of a connection's file: SQL cannot read the views of the file. From SQLite
/// 3.41 on, the schema can only call functions that SQLite knows to be harmless.
/// A name in double quotes is the name of a column or an error, never a text.
/// Without `fires_triggers`, the triggers of the file do not fire. With `is_defensive`, SQL cannot
/// damage the file deliberately, such as by writes to the tables of FTS5.
/// Temporary views and triggers are not affected.
/// Returns 0, or SQLite's result code.
int sqlite_distrust_schema(struct sqlite3 *connection, int fires_triggers, int is_defensive);

/// The first byte of a value in a list. A number continues with its eight bytes. A text or a blob
/// continues with its length in four bytes, followed by its bytes. Numbers and lengths are
/// little-endian.
enum VALUE_LIST {
  VALUE_LIST_NULL,
  VALUE_LIST_INTEGER,
  VALUE_LIST_DOUBLE,
  VALUE_LIST_TEXT,
  VALUE_LIST_BLOB,
};

/// Adds the table-valued function `cordial_values(list)` to a connection. It returns a row for each
/// value of a list in a blob. A statement with 200,000 parameters would take 40 MB instead.
/// Returns 0, or SQLite's result code.
int sqlite_add_value_lists(struct sqlite3 *connection);

/// Installs a handler for SIGBUS. SQLite maps the file by which connections share a write-ahead
/// log. If another program shortens this file, an access to a lost page would end the process. The
/// handler replaces each lost page with an empty page of this process, which
/// `sqlite_check_index_of_log` detects. The handler replaces the process's action for SIGBUS.
/// Returns 0, or -1 with `errno`.
int sqlite_survive_lost_pages(void);

/// Returns whether this process has lost pages of a file by which connections share a log.
int sqlite_has_lost_pages(void);

/// Checks that the connection shares the index of its write-ahead log with other connections.
/// Returns 0, also without a log; SQLITE_CORRUPT if this process has lost pages of the index.
int sqlite_check_index_of_log(struct sqlite3 *connection);

/// Checks that no other program has changed the write-ahead log. A transaction that writes must be
/// open. The log must be as long as its index says, and must have the header and the last frame
/// that the index describes. The index must list this frame, and the pages that are missing at the
/// end of the database's file. The function checks the first missing page and some later pages. It
/// also performs the check of `sqlite_check_index_of_log`.
/// Returns 0, also without a log; SQLITE_CORRUPT if another program has changed the log; the code
/// of a read error.
int sqlite_check_log(struct sqlite3 *connection);

/// Sets whether closing the connection leaves the write-ahead log in place.
/// Returns 0, or SQLite's result code.
int sqlite_keep_log(struct sqlite3 *connection, int keeps);

#endif
