# shellcheck shell=bash
# The rows about whole stores: a verification beside SQLite's own, and an inferred migration that
# rewrites a table beside the same statements in SQLite's shell, and a migration by expressions
# beside the inferred one. Tools/bench reads this file and runs row_maintain. Each figure is the best of three runs, in milliseconds.

if $quick; then maintain_objects=100000; else maintain_objects=1000000; fi

# best COMMAND…: the time of the fastest of three runs, in milliseconds.
best() {
  local began ended best='' run
  for run in 1 2 3; do
    began=$(date +%s%N)
    "$@" </dev/null >/dev/null 2>>"$work/cordial.log" || return 1
    ended=$(date +%s%N)
    run=$(((ended - began) / 1000))
    if [[ -z $best ]] || ((run < best)); then best=$run; fi
  done
  awk -v time="$best" 'BEGIN { print time / 1000 }'
}

maintain_model() {
  printf '{"name":"Big","entities":[{"name":"Item","attributes":[%s]}]}\n' \
    '{"name":"title","type":"string"},'"$1"',{"name":"size","type":"double","optional":true}'
}

verify_store() { "$cordial" call "$work/maintain" store/verify; }

# A copy of the store is migrated in each run.
migrate_store() {
  "$cordial" model migrate "$work/maintain.$((++maintain_run))" --model "$work/$1.json"
}

# The same change in SQL, on a copy of the store's table without its triggers.
migrate_table() {
  sqlite3 "$work/maintain-$((++maintain_run)).sqlite" '
    BEGIN;
    CREATE TABLE new_item(_id INTEGER PRIMARY KEY AUTOINCREMENT,
      _version INTEGER NOT NULL DEFAULT 1, title TEXT NOT NULL, rank INTEGER NOT NULL DEFAULT 5,
      note TEXT, size REAL) STRICT;
    INSERT INTO new_item(_id, _version, title, rank, size)
      SELECT _id, _version, title, coalesce(rank, 5), size FROM Item;
    DROP TABLE Item;
    ALTER TABLE new_item RENAME TO Item;
    COMMIT'
}

row_maintain() {
  local verified='' checked='' migrated='' mapped='' copied='' run
  if [[ -x $cordial ]]; then
    maintain_model '{"name":"rank","type":"int32","optional":true}' >"$work/maintain-1.json"
    maintain_model '{"name":"rank","type":"int64","default":5},
      {"name":"note","type":"string","optional":true}' >"$work/maintain-2.json"
    sed 's/^{/{"map":{"@from":"1","Item":{"note":"CAST(rank * 2, '"'NSString'"')"}},/' \
      "$work/maintain-2.json" >"$work/maintain-3.json"
    awk -v count="$maintain_objects" 'BEGIN {
      for (i = 0; i < count; i++)
        printf "{\"entity\":\"Item\",\"values\":{\"title\":\"title %d\",\"rank\":%d,\"size\":%d.5}}\n",
          i, i % 1000, i
    }' >"$work/maintain.jsonl"
    rm -rf "$work/maintain"
    "$cordial" import "$work/maintain" "$work/maintain.jsonl" --model "$work/maintain-1.json" \
      --no-index --batch 20000 >/dev/null 2>>"$work/cordial.log"
    rm -f "$work/maintain.jsonl"
    verified=$(best verify_store)
    checked=$(best sqlite3 "$work/maintain/store.sqlite" 'PRAGMA integrity_check')
    for run in 1 2 3 4 5 6; do cp -r "$work/maintain" "$work/maintain.$run"; done
    for run in 1 2 3; do
      cp "$work/maintain/store.sqlite" "$work/maintain-$run.sqlite"
      sqlite3 "$work/maintain-$run.sqlite" "SELECT 'DROP TRIGGER \"' || name || '\";' FROM
        sqlite_master WHERE type = 'trigger'" | sqlite3 "$work/maintain-$run.sqlite"
    done
    maintain_run=0 migrated=$(best migrate_store maintain-2)
    maintain_run=3 mapped=$(best migrate_store maintain-3)
    maintain_run=0 copied=$(best migrate_table)
    rm -rf "$work"/maintain*
  fi
  row "verification, $maintain_objects objects" ms 'PRAGMA integrity_check' "$checked" \
    "$verified" '<= 3 x'
  row 'inferred migration of their table' ms 'INSERT ... SELECT' "$copied" "$migrated" '<= 2 x'
  row 'migration by a mapping expression' ms 'inferred migration' "$migrated" "$mapped" '<= 4 x'
}
