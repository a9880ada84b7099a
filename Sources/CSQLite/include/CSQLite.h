// CSQLite: SQLite's variadic configuration functions, which Swift cannot call.
//
// Must not know: Swift, tables.

#ifndef CSQLITE_H
#define CSQLITE_H

/// Disables SQLite's memory statistics for the whole process. Call it before the first connection
/// is opened. The statistics take one lock for each allocation, so that the writer and the index
/// wait for each other.
/// Returns 0, or SQLite's result code if SQLite is already initialized.
int sqlite_disable_memory_counting(void);

struct sqlite3;

/// Enables or disables triggers on a connection. SQLite recompiles compiled statements when they
/// run next.
/// Returns 0, or SQLite's result code.
int sqlite_enable_triggers(struct sqlite3 *connection, int enabled);

#endif
