# shellcheck shell=bash
# The rows about requests that stop, and about clients that delay others. Tools/bench reads this
# file and runs row_stop.

if $quick; then
  stop_notes=50000 stop_rows=200000 stop_rounds=40 stop_seconds=5 stop_hostile=20
else
  stop_notes=200000 stop_rows=1000000 stop_rounds=200 stop_seconds=20 stop_hostile=300
fi

stop_model='{"name":"Stop","entities":[
  {"name":"Note","spotlight":{"displayName":"title","attributes":{"title":2,"body":1}},
   "indexes":[["number"]],"attributes":[{"name":"title","type":"string"},
    {"name":"body","type":"string","optional":true},
    {"name":"number","type":"int64","default":0}]},
  {"name":"Row","attributes":[{"name":"label","type":"string"}]}]}'

row_stop() {
  local what socket=$work/cordial.sock name
  printf '%s\n' "$stop_model" >"$work/stop.json"
  start_cordial "$work/stop.json" || return 0
  python3 Tools/stops.py lines --count "$stop_notes" --sorted "$stop_rows" >"$work/stop.jsonl"
  measure stop-import "$cordial" import "$socket" "$work/stop.jsonl"
  rm "$work/stop.jsonl"
  for what in fetch matches sort index store; do
    measure "stop-$what" python3 Tools/stops.py stop "$socket" "$what" --rounds "$stop_rounds"
    case $what in
      fetch) name="stop a fetch of $stop_notes, p99" ;;
      matches) name="stop a MATCHES over $stop_notes, p99" ;;
      sort) name="stop a sort of $stop_rows, p99" ;;
      index) name='stop index/verify, p99' ;;
      store) name='stop store/verify, p99' ;;
    esac
    row "$name" ms '' '' "$(figure "stop-$what" p99Milliseconds)" '<= 50'
  done
  for what in reads saves; do
    measure "alone-$what" python3 Tools/stops.py beside "$socket" "$what" --seconds "$stop_seconds"
    measure "slow-$what" python3 Tools/stops.py beside "$socket" "$what" --slow \
      --seconds "$stop_seconds"
    row "ten clients' $what beside a slow one, p99" ms 'the ten alone' \
      "$(figure "alone-$what" p99Milliseconds)" "$(figure "slow-$what" p99Milliseconds)" '<= 3 x'
  done
  measure hostile python3 Tools/hostile.py "$socket" "${pids[cordial]}" --seconds "$stop_hostile"
  row "memory, 20 hostile clients for $stop_hostile s" KiB '' '' "$(figure hostile peakKiB)" \
    '<= 677888'
}
