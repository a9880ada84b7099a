#include "CSQLite.h"

#include <sqlite3.h>

int sqlite_enable_triggers(struct sqlite3 *connection, int enabled) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, enabled, (int *)0);
}

int sqlite_disable_memory_counting(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
