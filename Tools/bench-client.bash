# shellcheck shell=bash
# The rows about the Swift library; Tools/bench reads this file and runs row_client.

row_client() {
  local run count=100000
  if $quick; then count=20000; fi
  if [[ -x $cordial ]]; then
    "$bench" observe-model --file "$work/observe-model.json" >/dev/null
    "$cordial" init "$work/clients" --model "$work/observe-model.json" 2>/dev/null
    measure client-fill "$bench" observe-fill --file "$work/clients/store.sqlite" --count "$count"
    "$cordial" fetch "$work/clients" Item --count >/dev/null
    "$cordial" serve "$work/clients" --socket "$work/client.sock" </dev/null >/dev/null \
      2>"$work/cordial.log" &
    pids[client]=$!
    "$bench" wait --socket "$work/client.sock" >/dev/null
    for ((run = 0; run < repeats; run++)); do
      measure client-open "$bench" client-open --socket "$work/client.sock"
      measure client-values "$bench" client-values --socket "$work/client.sock"
      measure client-call "$bench" client-call --socket "$work/client.sock"
    done
    stop client
  fi
  for ((run = 0; run < repeats; run++)); do
    measure client-decode "$bench" client-decode
    measure client-mock "$bench" client-mock
  done
  row "open a FetchedResults of $count, p50" us 'the raw answer, parsed' \
    "$(figure client-open rawP50Microseconds)" "$(figure client-open p50Microseconds)" '<= 2 x'
  row "its memory, a row" bytes '' '' "$(figure client-open bytesPerRow)" \
    "<= $((24 + 2000000 / count))"
  row '1,000 objects, notified, p50' us 'the bytes on a bare socket' \
    "$(figure client-values rawP50Microseconds)" "$(figure client-values p50Microseconds)" '<= 3 x'
  row 'a fetch as a value, p50' us 'the same as JSON' "$(figure client-call rawP50Microseconds)" \
    "$(figure client-call p50Microseconds)"
  row 'the same, the difference' us '' '' "$(figure client-call moreMicroseconds)" '<= 15'
  row '10,000 structs, bytes to values' us JSONDecoder \
    "$(figure client-decode foundationP50Microseconds)" \
    "$(figure client-decode p50Microseconds)" '<= 0.25 x'
  row 'mock of 100,000, insert one' us '' '' "$(figure client-mock p50Microseconds)" '<= 1000'
}
