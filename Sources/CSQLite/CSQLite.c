#include "CSQLite.h"

#include <sqlite3.h>

int sqlite_disable_memory_counting(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
