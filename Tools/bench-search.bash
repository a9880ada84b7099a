# shellcheck shell=bash
# The rows about search; Tools/bench reads this file and runs row_search. The peer has the same
# texts in one FTS5 table, with SQLite's own ranking and a count of all hits.

if $quick; then
  search_notes=20000 search_rounds=300 search_saves=300 search_commits=2000
  search_ages=2000 search_many=100000
else
  search_notes=200000 search_rounds=2000 search_saves=1500 search_commits=10000
  search_ages=100000 search_many=1000000
fi

# search_goal FIGURE: a goal for the full size; quick runs have fewer notes and no goals.
search_goal() { $quick || printf '%s' "$1"; }

fill_notes() {
  [[ -x $cordial ]] || return 1
  "$bench" search-model --file "$work/search-model.json" >/dev/null
  "$cordial" init "$work/notes" --model "$work/search-model.json" 2>/dev/null
  measure search-fill "$bench" search-fill --file "$work/notes/store.sqlite" \
    --peer "$work/notes.sqlite" --count "$search_notes"
  # The first to open it enters what was written as one commit, and the index follows.
  "$cordial" fetch "$work/notes" Note --count >/dev/null
  serve_notes
}

serve_notes() {
  "$cordial" serve "$work/notes" --socket "$work/notes.sock" </dev/null >/dev/null \
    2>"$work/cordial.log" &
  pids[notes]=$!
  "$bench" wait --socket "$work/notes.sock" >/dev/null
}

# service_memory STORE: the memory of a new service that has searched once, in bytes.
service_memory() {
  local anonymous
  "$cordial" serve "$1" --socket "$work/many.sock" </dev/null >/dev/null 2>>"$work/cordial.log" &
  pids[many]=$!
  "$bench" wait --socket "$work/many.sock" >/dev/null
  "$cordial" search "$work/many.sock" 'note 12345' >/dev/null
  anonymous=$(awk '/^RssAnon/ { print $2 * 1024 }' "/proc/${pids[many]}/status")
  stop many
  printf '{"bytes":%s}\n' "$anonymous"
}

# A store of many notes of two words each, and one without notes.
measure_memory() {
  local store
  for store in many none; do
    "$cordial" init "$work/$store" --model "$work/search-model.json" 2>/dev/null
  done
  sqlite3 "$work/many/store.sqlite" "WITH RECURSIVE n(i) AS (
    SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $search_many)
    INSERT INTO Note(title, body, kind, part, count) SELECT 'note ' || i, '', 0, 0, 0 FROM n"
  # The first service enters what was written, and builds the index.
  for store in many none; do
    service_memory "$work/$store" >/dev/null
    service_memory "$work/$store" >>"$work/figures/search-memory-$store"
  done
}

measure_searches() {
  local kind rounds
  for kind in two quarter common or letter three fuzzy; do
    rounds=$search_rounds
    case $kind in quarter | common | or | letter) rounds=$((search_rounds / 10)) ;; esac
    measure "search-$kind" "$bench" search --socket "$work/notes.sock" --kind "$kind" \
      --rounds "$rounds"
    if $peers && [[ $kind != fuzzy ]]; then
      measure "search-peer-$kind" "$bench" search-peer --file "$work/notes.sqlite" \
        --kind "$kind" --rounds 30
    fi
  done
}

row_search() {
  local kind size
  fill_notes || return 0
  measure_searches
  measure search-filter "$bench" search-filter --socket "$work/notes.sock"
  measure search-facets "$bench" search-facets --socket "$work/notes.sock"
  if $peers; then measure search-groups "$bench" search-groups --file "$work/notes/store.sqlite"; fi
  for kind in alone letters verify; do
    measure "search-$kind" "$bench" search-beside --socket "$work/notes.sock" --kind "$kind"
  done
  measure search-live "$bench" search-live --socket "$work/notes.sock"
  measure search-save "$bench" search-save --socket "$work/notes.sock" --rounds "$search_saves"
  measure search-idle "$bench" search-idle --socket "$work/notes.sock" \
    --process "${pids[notes]}" --rounds "$search_commits"
  size=$(stat -c %s "$work/notes/index.sqlite")
  measure search-aged "$bench" search-aged --socket "$work/notes.sock" \
    --file "$work/notes/index.sqlite" --rounds "$search_ages"
  stop notes
  measure_memory
  measure search-start "$bench" search-start --binary "$cordial" --store "$work/notes"

  row "two words, p50, $search_notes notes" us 'FTS5 rank and count' \
    "$(figure search-peer-two p50Microseconds)" "$(figure search-two serviceP50Microseconds)"
  row 'the same, p99' us 'FTS5 rank and count' "$(figure search-peer-two p99Microseconds)" \
    "$(figure search-two serviceP99Microseconds)" "$(search_goal '<= 100')"
  row 'the same, p99, more at the client' us '' '' "$(figure search-two moreP99Microseconds)" \
    "$(search_goal '<= 100')"
  row 'a word in a quarter of the notes' us 'FTS5 rank and count' \
    "$(figure search-peer-quarter p50Microseconds)" \
    "$(figure search-quarter serviceP50Microseconds)" "$(search_goal '<= 2500')"
  row 'two of the most common words, p99' us 'FTS5 rank and count' \
    "$(figure search-peer-common p99Microseconds)" \
    "$(figure search-common serviceP99Microseconds)" "$(search_goal '<= 5000')"
  row 'one of two such words, p99' us 'FTS5 rank and count' \
    "$(figure search-peer-or p99Microseconds)" "$(figure search-or serviceP99Microseconds)" \
    "$(search_goal '<= 8000')"
  row 'the first letter, p50' us 'FTS5 rank and count' \
    "$(figure search-peer-letter p50Microseconds)" \
    "$(figure search-letter serviceP50Microseconds)" "$(search_goal '<= 60000')"
  row 'three letters, p99' us 'FTS5 rank and count' \
    "$(figure search-peer-three p99Microseconds)" \
    "$(figure search-three serviceP99Microseconds)" "$(search_goal '<= 5000')"
  row 'a mistake in each of two words, p99' us '' '' \
    "$(figure search-fuzzy serviceP99Microseconds)" "$(search_goal '<= 10000')"
  row 'a predicate of 1 in 100, and a word' us 'the sum of both alone' \
    "$(figure search-filter sumMicroseconds)" "$(figure search-filter p50Microseconds)" '<= 1 x'
  row 'facets of two properties' us 'GROUP BY in SQLite' \
    "$(figure search-groups p50Microseconds)" "$(figure search-facets p50Microseconds)" '<= 2 x'
  row 'beside one-letter searches, p99' us 'alone' "$(figure search-alone p99Microseconds)" \
    "$(figure search-letters p99Microseconds)" '<= 3 x'
  row 'beside index/verify, p99' us 'alone' "$(figure search-alone p99Microseconds)" \
    "$(figure search-verify p99Microseconds)" '<= 3 x'
  row '100 live searches, one commit, p50' us '' '' "$(figure search-live p50Microseconds)" \
    '<= 20000'
  row 'saved note to its hit, p50' us '' '' "$(figure search-save p50Microseconds)" '<= 1000'
  row 'the same, p99' us '' '' "$(figure search-save p99Microseconds)" '<= 5000'
  row 'the same, worst' us '' '' "$(figure search-save worstMicroseconds)" '<= 50000'
  row 'start to the first hit, p50' us '' '' "$(figure search-start p50Microseconds)" '<= 30000'
  row 'size of the index' bytes 'the text' "$(figure search-fill bytes)" "$size" '<= 0.7 x'
  row "after $search_ages commits of a note" us 'the rebuilt index' \
    "$(figure search-aged builtMicroseconds)" "$(figure search-aged agedMicroseconds)" '<= 1.5 x'
  row 'its size' bytes 'the rebuilt index' "$(figure search-aged builtBytes)" \
    "$(figure search-aged agedBytes)" '<= 1.3 x'
  row "memory of $search_many notes" bytes 'a store without notes' \
    "$(figure search-memory-none bytes)" "$(figure search-memory-many bytes)"
  row 'the same, more than without notes' bytes '' '' \
    "$(($(figure search-memory-many bytes) - $(figure search-memory-none bytes)))" \
    "$(search_goal '<= 40000000')"
  row 'index, commits without a text' percent '' '' "$(figure search-idle percent)" '<= 1'
}
