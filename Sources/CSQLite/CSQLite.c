#include "CSQLite.h"

#include <sqlite3.h>

int sqlite_enable_triggers(struct sqlite3 *connection, int enabled) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, enabled, (int *)0);
}

int sqlite_distrust_schema(struct sqlite3 *connection, int fires_triggers, int is_defensive) {
  int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
  if (code == SQLITE_OK) {
    code = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, fires_triggers, (int *)0);
  }
  // Otherwise SQLite would read the quoted name of a missing column as a text.
  if (code == SQLITE_OK) {
    code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  }
  if (code == SQLITE_OK) {
    code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
  }
  if (code == SQLITE_OK) {
    code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, is_defensive, (int *)0);
  }
  // SQLite 3.38 to 3.40 treat their own JSON functions as unsafe. With an untrusted schema, the
  // triggers of the log could not call json_quote, and a file with an index on json_extract could
  // not be opened.
  if (code == SQLITE_OK && sqlite3_libversion_number() >= 3041000) {
    code = sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
  }
  return code;
}

int sqlite_disable_memory_counting(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
