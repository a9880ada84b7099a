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

/// Has a connection distrust the schema of its file: SQL cannot read the views of the file, and the
/// schema cannot call functions that SQLite does not know as harmless, from SQLite 3.41 on.
/// Without `fires_triggers`, the triggers of the file do not fire. With `is_defensive`, SQL cannot
/// damage the file deliberately, such as by writes to the tables of FTS5.
/// Temporary views and triggers are not affected.
/// Returns 0, or SQLite's result code.
int sqlite_distrust_schema(struct sqlite3 *connection, int fires_triggers, int is_defensive);

#endif
