# shellcheck shell=bash
# The rows about what a save costs as the data around it grows; Tools/bench reads this file and runs
# row_cost. Each row is a figure of much data beside the same figure of little.

if $quick; then
  cost_members=10000 cost_deletes=20000 cost_import=20000
else
  cost_members=100000 cost_deletes=100000 cost_import=100000
fi

# serve_costs: serves a new, empty store of the model for these rows.
serve_costs() {
  [[ -x $cordial ]] || return 1
  stop cost
  rm -rf "$work/cost" "$work/cost.sock"
  "$cordial" serve "$work/cost" --model "$work/cost-model.json" --socket "$work/cost.sock" \
    </dev/null >/dev/null 2>"$work/cordial.log" &
  pids[cost]=$!
  "$bench" wait --socket "$work/cost.sock" >/dev/null
}

# measure_import NAME COUNT: objects each of which references the next one, which comes later.
measure_import() {
  serve_costs || return 0
  awk -v count="$2" 'BEGIN {
    for (i = 1; i <= count; i++)
      printf "{\"id\":\"Link/%d\",\"values\":{\"name\":\"n\",\"next\":\"Link/%d\"}}\n", i, i % count + 1
  }' >"$work/$1.jsonl"
  local rate
  rate=$("$cordial" import "$work/cost.sock" "$work/$1.jsonl" --no-index 2>&1 | tr '\r' '\n' |
    sed -n 's/.*, \([0-9]*\) a second.*/\1/p' | tail -n 1)
  if [[ -n $rate ]]; then
    printf '{"command":"%s","rowsPerSecond":%s}\n' "$1" "$rate" >>"$work/figures/$1"
  fi
  rm -f "$work/$1.jsonl"
}

row_cost() {
  local run
  "$bench" cost-model --file "$work/cost-model.json" >/dev/null
  for ((run = 0; run < repeats; run++)); do
    serve_costs || return 0
    measure cost-members-few "$bench" cost-members --socket "$work/cost.sock" --count 10
    measure cost-members-some "$bench" cost-members --socket "$work/cost.sock" --count 1000
    measure cost-members-many "$bench" cost-members --socket "$work/cost.sock" \
      --count "$cost_members"
    serve_costs && measure cost-undo-few "$bench" cost-undo --socket "$work/cost.sock" \
      --count $((cost_deletes / 10))
    serve_costs && measure cost-undo-many "$bench" cost-undo --socket "$work/cost.sock" \
      --count "$cost_deletes"
    serve_costs && measure cost-targets-few "$bench" cost-targets --socket "$work/cost.sock" \
      --count 10
    serve_costs && measure cost-targets-many "$bench" cost-targets --socket "$work/cost.sock" \
      --count 10000
    measure_import cost-import-few "$cost_import"
    measure_import cost-import-many $((10 * cost_import))
  done
  stop cost
  row '@add, @remove among 1,000 members' us 'among 10' \
    "$(figure cost-members-few p50Microseconds)" "$(figure cost-members-some p50Microseconds)" \
    '<= 1.3 x'
  row "@add, @remove among $cost_members members" us 'among 10' \
    "$(figure cost-members-few p50Microseconds)" "$(figure cost-members-many p50Microseconds)" \
    '<= 1.3 x'
  row "undo of $cost_deletes deletes" s 'the delete' \
    "$(figure cost-undo-many deleteSeconds)" "$(figure cost-undo-many undoSeconds)" '<= 1 x'
  row "redo of $cost_deletes deletes" s 'the delete' \
    "$(figure cost-undo-many deleteSeconds)" "$(figure cost-undo-many redoSeconds)" '<= 1 x'
  row "undo of $cost_deletes deletes, for each" us 'of a tenth as many' \
    "$(figure cost-undo-few undoMicrosecondsEach)" \
    "$(figure cost-undo-many undoMicrosecondsEach)" '<= 1.3 x'
  row '1000 inserts that link 10,000 targets' us 'that link 10' \
    "$(figure cost-targets-few p50Microseconds)" "$(figure cost-targets-many p50Microseconds)"
  row "import of $((10 * cost_import)), references later" rows/s 'of a tenth as many' \
    "$(figure cost-import-few rowsPerSecond)" "$(figure cost-import-many rowsPerSecond)" \
    '>= 0.77 x'
}
