# shellcheck shell=bash
# The rows about observed requests; Tools/bench reads this file and runs row_observe. Each row is a
# figure beside many subscriptions, rows or connections, and beside few.

if $quick; then
  observe_many=2000 observe_rows=100000 observe_texts=500 observe_rounds=50
else
  observe_many=10000 observe_rows=1000000 observe_texts=5000 observe_rounds=200
fi

# serve_observing COUNT: serves a new store of so many objects.
serve_observing() {
  [[ -x $cordial ]] || return 1
  stop observe
  rm -rf "$work/observe" "$work/observe.sock"
  "$cordial" init "$work/observe" --model "$work/observe-model.json" 2>/dev/null
  "$bench" observe-fill --file "$work/observe/store.sqlite" --count "$1" >/dev/null
  # The first to open it enters what was written as one commit.
  "$cordial" fetch "$work/observe" Item --count >/dev/null
  "$cordial" serve "$work/observe" --socket "$work/observe.sock" </dev/null >/dev/null \
    2>"$work/cordial.log" &
  pids[observe]=$!
  "$bench" wait --socket "$work/observe.sock" >/dev/null
}

# measure_observing KEY SUBCOMMAND...: with the server's socket.
measure_observing() {
  local key=$1
  shift
  measure "$key" "$bench" "$@" --socket "$work/observe.sock"
}

measure_observed_matches() {
  local kind count
  serve_observing 20000 || return 0
  for kind in id equality and in between relation; do
    for count in 1 "$observe_many"; do
      measure_observing "observe-$kind-$count" observe-match --kind "$kind" \
        --subscriptions "$count" --rounds "$observe_rounds" --process "${pids[observe]}"
    done
  done
  measure_observing observe-text observe-match --kind text --subscriptions "$observe_texts" \
    --rounds 50 --process "${pids[observe]}"
  measure_observing observe-fetch observe-register --method fetch --count "$observe_many"
  measure_observing observe-register observe-register --method observe --count "$observe_many"
}

measure_observed_windows() {
  local count place
  for count in 10000 "$observe_rows"; do
    serve_observing "$count" || return 0
    for place in top middle unindexed after ids; do
      measure_observing "observe-$place-$count" observe-window --place "$place" --count "$count"
    done
  done
}

measure_observed_commits() {
  local kind
  for kind in objects values ids; do
    serve_observing 10000 || return 0
    measure_observing "observe-large-$kind" observe-large --kind "$kind" \
      --process "${pids[observe]}"
  done
}

measure_observing_connections() {
  serve_observing 10000 || return 0
  local count
  for count in 1 1000; do
    measure_observing "observe-connections-$count" observe-connections --connections "$count" \
      --process "${pids[observe]}"
  done
  measure_observing observe-fan observe-fan
  start_redis && measure redis-fan "$bench" redis-fan --socket "$work/redis.sock"
  measure_observing observe-since observe-since
}

# observe_rows_of KIND NAME GOAL: until the answer, and until the last byte.
observe_rows_of() {
  local one="observe-$1-1" many="observe-$1-$observe_many"
  row "$observe_many $2: save" us '1 subscription' "$(figure "$one" saveP50Microseconds)" \
    "$(figure "$many" saveP50Microseconds)" "<= $3 x"
  row "$observe_many $2: last byte" us '1 subscription' "$(figure "$one" p50Microseconds)" \
    "$(figure "$many" p50Microseconds)" "<= $3 x"
}

row_observe() {
  local run place
  "$bench" observe-model --file "$work/observe-model.json" >/dev/null
  ulimit -n "$(ulimit -Hn)"
  for ((run = 0; run < repeats; run++)); do
    measure_observed_matches
    measure_observed_windows
    measure_observed_commits
    measure_observing_connections
  done
  stop observe
  observe_rows_of id 'by ID' 1.2
  observe_rows_of equality 'k == v' 1.2
  observe_rows_of and 'k == v AND n > m' 1.5
  observe_rows_of in 'k IN list' 1.5
  observe_rows_of between 'k BETWEEN' 1.5
  observe_rows_of relation 'group == g' 1.5
  row "$observe_texts CONTAINS[cd], processor" us '' '' \
    "$(figure observe-text processorMicroseconds)" "<= $((observe_texts / 2))"
  row "$observe_many observe, each" us 'the same fetch' "$(figure observe-fetch microseconds)" \
    "$(figure observe-register microseconds)" '<= 1.3 x'
  row 'the last half of them, each' us 'the first half' \
    "$(figure observe-register firstMicroseconds)" "$(figure observe-register lastMicroseconds)" \
    '<= 1.1 x'
  row 'memory of a subscription by ID' B '' '' \
    "$(figure "observe-id-$observe_many" residentBytes)" '<= 2000'
  row 'memory of a subscription by fetch' B '' '' \
    "$(figure "observe-equality-$observe_many" residentBytes)" '<= 4000'
  for place in top middle unindexed after; do
    row "window of 50 of $observe_rows, $place" us 'of 10,000' \
      "$(figure "observe-$place-10000" p50Microseconds)" \
      "$(figure "observe-$place-$observe_rows" p50Microseconds)" '<= 1.3 x'
  done
  row "IDs of $observe_rows, one insert" us '' '' \
    "$(figure "observe-ids-$observe_rows" p50Microseconds)" '<= 2000'
  row '1,000 by ID, 10,000 updated' ms '' '' "$(figure observe-large-objects milliseconds)" \
    '<= 10'
  row '1,000 fetches of 1,000, 10,000 updated' ms '' '' \
    "$(figure observe-large-values milliseconds)" '<= 500'
  row 'the same, memory' MB '' '' "$(figure observe-large-values residentMegabytes)" '<= 64'
  row 'the same in mode ids, processor' ms 'the update alone' \
    "$(figure observe-large-ids updateProcessorMilliseconds)" \
    "$(figure observe-large-ids processorMilliseconds)"
  row '1,000 connections, a commit for 1' us '1 connection' \
    "$(figure observe-connections-1 p50Microseconds)" \
    "$(figure observe-connections-1000 p50Microseconds)" '<= 1.5 x'
  row 'the same, processor' us '' '' \
    "$(figure observe-connections-1000 processorMicroseconds)" '<= 300'
  row '1,000 connections on one window' us 'Redis PUBLISH' "$(figure redis-fan p50Microseconds)" \
    "$(figure observe-fan p50Microseconds)" '<= 3 x'
  row 'since 1,000 commits, 10,000 rows' us 'the fetch' \
    "$(figure observe-since fetchP50Microseconds)" "$(figure observe-since p50Microseconds)" \
    '<= 2 x'
}
