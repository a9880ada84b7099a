# shellcheck shell=bash
# The rows about saves, updates and their history; Tools/bench reads this file and runs row_write.
#
# A durable save is answered after an fsync, and so are its peers': all files are in the temporary
# folder, which has to be on a disk. The model indexes nothing, as the peers index nothing.

if $quick; then
  written=20000 turns=3 single_saves=200 many_saves=1600 update_rounds=2
else
  written=100000 turns=5 single_saves=500 many_saves=4000 update_rounds=5
fi
readonly clients=16

# The disk's part of the durable rows, told below the table.
sync_note() {
  local filesystem
  filesystem=$(df --output=fstype "$work" | tail -n 1)
  printf 'Durable rows: on %s, where an fsync of 4 KiB took %s us (p50). ' "$filesystem" \
    "$(figure fsync p50Microseconds)"
  case $filesystem in
    tmpfs | ramfs) echo 'That is no disk: they say nothing. Set TMPDIR to a folder on one.' ;;
    *) echo 'All servers synced to it.' ;;
  esac
}

# serve_writes: serves a new, empty store, whose history may be purged.
serve_writes() {
  [[ -x $cordial ]] || return 1
  stop write
  rm -rf "$work/write" "$work/write.sock"
  "$cordial" serve "$work/write" --model "$work/write-model.json" --socket "$work/write.sock" \
    --history-days 0 </dev/null >/dev/null 2>"$work/cordial.log" &
  pids[write]=$!
  "$bench" wait --socket "$work/write.sock" >/dev/null && return
  say "cordial serve did not start: $(tail -n 1 "$work/cordial.log")"
  return 1
}

# Another one than the other rows have, which answers before anything is on the disk.
start_durable_redis() {
  if [[ -n ${pids[durable-redis]-} ]]; then return; fi
  $peers && command -v redis-server >/dev/null || return 1
  mkdir "$work/durable-redis"
  redis-server --port 0 --unixsocket "$work/durable-redis.sock" --save '' --appendonly yes \
    --appendfsync always --dir "$work/durable-redis" >"$work/redis.log" 2>&1 &
  pids[durable-redis]=$!
  "$bench" wait --socket "$work/durable-redis.sock" >/dev/null
}

# In many short turns: what an fsync takes changes from one second to the next.
measure_durable_saves() {
  local turn
  if $peers && [[ -x $cordial ]]; then
    rm -rf "$work/peer"
    "$cordial" init "$work/peer" --model "$work/write-model.json" 2>/dev/null
  fi
  serve_writes || true
  start_postgres || true
  start_durable_redis || true
  for ((turn = 0; turn < turns; turn++)); do
    measure fsync "$bench" fsync --file "$work/fsync"
    if [[ -d $work/peer ]]; then
      measure sqlite-save "$bench" sqlite-save --file "$work/peer/store.sqlite" \
        --rounds "$single_saves"
    fi
    if [[ -n ${pids[write]-} ]]; then
      measure save "$bench" save --socket "$work/write.sock" --rounds "$single_saves"
      measure many-saves "$bench" save --socket "$work/write.sock" --clients "$clients" \
        --rounds "$many_saves"
    fi
    if [[ -n ${pids[postgres]-} ]]; then
      measure pg-insert "$bench" pg-insert --socket "$work/postgres/.s.PGSQL.5432" \
        --clients "$clients" --rounds "$many_saves"
    fi
    if [[ -n ${pids[durable-redis]-} ]]; then
      measure redis-set "$bench" redis-set --socket "$work/durable-redis.sock" \
        --clients "$clients" --rounds "$many_saves"
    fi
  done
}

measure_bulk() {
  local file=$work/raw-write.sqlite change
  if $peers; then
    measure raw-write "$bench" raw-insert --file "$file" --count "$written"
    for change in constant expression; do
      measure "sqlite-$change" "$bench" sqlite-update --file "$file" --change "$change" \
        --count "$written" --rounds "$update_rounds"
    done
  fi
  serve_writes || return 0
  file=$work/write/store.sqlite
  measure write-import "$bench" import --socket "$work/write.sock" --count "$written"
  measure size-before "$bench" history-size --file "$file"
  for change in constant expression; do
    measure "update-$change" "$bench" update --socket "$work/write.sock" --change "$change" \
      --count "$written" --rounds "$update_rounds"
  done
  measure size-after "$bench" history-size --file "$file"
  measure purge "$bench" purge --socket "$work/write.sock" --file "$file" --rounds "$single_saves"
}

# What the log takes for each change, of which the updates between the two sizes logged so many.
bytes_for_each_change() {
  printf '%s\n' "$(figure size-before bytes)" "$(figure size-before changes)" \
    "$(figure size-after bytes)" "$(figure size-after changes)" |
    awk '{ n[NR] = $1 } END { if (n[4] > n[2]) print (n[3] - n[1]) / (n[4] - n[2]) }'
}

row_write() {
  local run change ours logged
  "$bench" model --index no --file "$work/write-model.json" >/dev/null
  for ((run = 0; run < repeats; run++)); do
    measure_durable_saves
    measure_bulk
  done
  stop write
  row 'durable saves, one client' saves/s 'SQLite C API, same history' \
    "$(figure sqlite-save perSecond)" "$(figure save perSecond)" '>= 0.8 x'
  ours=$(figure many-saves perSecond)
  row "durable saves, $clients clients" saves/s 'one client' "$(figure save perSecond)" "$ours" \
    '>= 5 x'
  row "durable saves, $clients clients" saves/s 'PostgreSQL INSERT, synced' \
    "$(figure pg-insert perSecond)" "$ours" '> 1 x'
  row "durable saves, $clients clients" saves/s 'Redis SET, appended, synced' \
    "$(figure redis-set perSecond)" "$ours" '>= 0.5 x'
  row "$written inserts by 1000, logged" rows/s 'SQLite C API, rows alone' \
    "$(figure raw-write rowsPerSecond)" "$(figure write-import saveRowsPerSecond)" '>= 0.3 x'
  for change in constant expression; do
    row "$written updated, $change, logged" rows/s 'SQLite C API, rows alone' \
      "$(figure "sqlite-$change" rowsPerSecond)" "$(figure "update-$change" rowsPerSecond)" \
      '>= 0.25 x'
  done
  row 'store for each logged change' bytes '' '' "$(bytes_for_each_change)"
  logged=$(figure purge changes)
  row "purge of ${logged:-all} changes" s '' '' "$(figure purge seconds)"
  row 'longest durable save while it purges' ms 'before it' \
    "$(figure purge maxMillisecondsBefore)" "$(figure purge maxMillisecondsDuring)" '<= 50'
  row 'durable save while it purges, p99' ms 'before it' \
    "$(figure purge p99MillisecondsBefore)" "$(figure purge p99MillisecondsDuring)"
}
