// CSQLite: what of SQLite Swift cannot call: its configuration, which takes any arguments.
//
// Must not know: Swift, tables.

#ifndef CSQLITE_H
#define CSQLITE_H

/// Has SQLite not count its memory, for the whole process; to be called before the first connection
/// is opened. Counting takes one lock for each allocation, at which the writer and the index wait
/// for each other.
/// Returns 0, or SQLite's code when it runs already.
int sqlite_disable_memory_counting(void);

struct sqlite3;

/// Has the statements of a connection fire triggers, or not. Statements that are compiled already
/// are compiled again when they run next.
/// Returns 0, or SQLite's code.
int sqlite_enable_triggers(struct sqlite3 *connection, int enabled);

#endif
