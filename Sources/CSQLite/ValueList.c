#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

#include "CSQLite.h"

// The columns of the table.
enum { COLUMN_VALUE, COLUMN_LIST };

typedef struct {
  sqlite3_vtab_cursor base;
  /// A copy of the list; NULL for no list.
  sqlite3_value *list;
  const unsigned char *bytes;
  size_t count;
  /// The offsets of the current value and of the next value. Both are `count` at the end.
  size_t start, end;
  sqlite3_int64 row;
} Cursor;

static int connect(
  sqlite3 *connection, void *context, int argc, const char *const *argv, sqlite3_vtab **table,
  char **message
) {
  (void)context, (void)argc, (void)argv, (void)message;
  int code = sqlite3_declare_vtab(connection, "CREATE TABLE x(value, list HIDDEN)");
  // The schema of a file must not use the table.
  if (code == SQLITE_OK) code = sqlite3_vtab_config(connection, SQLITE_VTAB_DIRECTONLY);
  if (code != SQLITE_OK) return code;
  *table = sqlite3_malloc(sizeof(sqlite3_vtab));
  if (*table == NULL) return SQLITE_NOMEM;
  memset(*table, 0, sizeof(sqlite3_vtab));
  return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table;
  for (int index = 0; index < info->nConstraint; index++) {
    if (info->aConstraint[index].iColumn != COLUMN_LIST) continue;
    if (info->aConstraint[index].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!info->aConstraint[index].usable) return SQLITE_CONSTRAINT;
    info->aConstraintUsage[index].argvIndex = 1;
    info->aConstraintUsage[index].omit = 1;
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    return SQLITE_OK;
  }
  return SQLITE_CONSTRAINT;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
  (void)table;
  Cursor *made = sqlite3_malloc(sizeof(Cursor));
  if (made == NULL) return SQLITE_NOMEM;
  memset(made, 0, sizeof(Cursor));
  *cursor = &made->base;
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  Cursor *cursor = (Cursor *)base;
  sqlite3_value_free(cursor->list);
  sqlite3_free(cursor);
  return SQLITE_OK;
}

static uint32_t length(const Cursor *cursor) {
  uint32_t count;
  memcpy(&count, cursor->bytes + cursor->start + 1, sizeof count);
  return count;
}

/// Sets the end of the value that starts at `start`.
static int read_value(Cursor *cursor) {
  cursor->end = cursor->start;
  if (cursor->start == cursor->count) return SQLITE_OK;
  size_t left = cursor->count - cursor->start - 1, needed;
  switch (cursor->bytes[cursor->start]) {
  case VALUE_LIST_NULL: needed = 0; break;
  case VALUE_LIST_INTEGER:
  case VALUE_LIST_DOUBLE: needed = 8; break;
  case VALUE_LIST_TEXT:
  case VALUE_LIST_BLOB:
    if (left < 4) return SQLITE_ERROR;
    needed = 4 + (size_t)length(cursor);
    break;
  default: return SQLITE_ERROR;
  }
  if (left < needed) return SQLITE_ERROR;
  cursor->end = cursor->start + 1 + needed;
  return SQLITE_OK;
}

static int filter(
  sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv
) {
  (void)number, (void)text, (void)argc;
  Cursor *cursor = (Cursor *)base;
  sqlite3_value_free(cursor->list);
  memset((char *)cursor + sizeof cursor->base, 0, sizeof *cursor - sizeof cursor->base);
  if (sqlite3_value_type(argv[0]) != SQLITE_BLOB) return SQLITE_OK;
  // The argument is valid during this call only.
  cursor->list = sqlite3_value_dup(argv[0]);
  if (cursor->list == NULL) return SQLITE_NOMEM;
  cursor->bytes = sqlite3_value_blob(cursor->list);
  cursor->count = (size_t)sqlite3_value_bytes(cursor->list);
  if (cursor->bytes == NULL) cursor->count = 0;
  return read_value(cursor);
}

static int next(sqlite3_vtab_cursor *base) {
  Cursor *cursor = (Cursor *)base;
  cursor->start = cursor->end;
  cursor->row++;
  return read_value(cursor);
}

static int eof(sqlite3_vtab_cursor *base) {
  const Cursor *cursor = (const Cursor *)base;
  return cursor->start >= cursor->count;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
  const Cursor *cursor = (const Cursor *)base;
  if (number != COLUMN_VALUE) return SQLITE_OK;
  const unsigned char *content = cursor->bytes + cursor->start + 1;
  switch (cursor->bytes[cursor->start]) {
  case VALUE_LIST_INTEGER: {
    sqlite3_int64 value;
    memcpy(&value, content, sizeof value);
    sqlite3_result_int64(context, value);
    break;
  }
  case VALUE_LIST_DOUBLE: {
    double value;
    memcpy(&value, content, sizeof value);
    sqlite3_result_double(context, value);
    break;
  }
  case VALUE_LIST_TEXT:
    sqlite3_result_text64(
      context, (const char *)content + 4, length(cursor), SQLITE_TRANSIENT, SQLITE_UTF8
    );
    break;
  case VALUE_LIST_BLOB:
    sqlite3_result_blob64(context, content + 4, length(cursor), SQLITE_TRANSIENT);
    break;
  default: break;
  }
  return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *row) {
  *row = ((const Cursor *)base)->row;
  return SQLITE_OK;
}

// Without `xCreate`, every connection with this module has the table, and no SQL statement can
// create a further table of this module.
static const sqlite3_module module = {
  .xConnect = connect,
  .xBestIndex = best_index,
  .xDisconnect = disconnect,
  .xOpen = open_cursor,
  .xClose = close_cursor,
  .xFilter = filter,
  .xNext = next,
  .xEof = eof,
  .xColumn = column,
  .xRowid = row_id,
};

int sqlite_add_value_lists(struct sqlite3 *connection) {
  return sqlite3_create_module_v2(connection, "cordial_values", &module, NULL, NULL);
}
