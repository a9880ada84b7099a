# shellcheck shell=bash
# The rows about other search engines with the same texts: packages and their descriptions, and the
# messages of this machine's programs. Tools/bench reads this file and runs row_engines and
# row_known; Tools/search-engines.py drives the engines, and runs them inside its own process.

if $quick; then
  engine_packages=10000 engine_queries=300 known_count=2000 known_items=200 engine_runs=1
else
  engine_packages=1000000 engine_queries=2000 known_count=10000 known_items=1000 engine_runs=3
fi
readonly engine_names=(fts5 xapian tantivy tantivy-text)

# The command that drives the engines; empty before start_engines.
engines=()

# Tantivy is no package of Debian; pip installs it into the temporary folder.
start_engines() {
  if ((${#engines[@]})); then return; fi
  local package packages=(python3)
  if $peers; then packages+=(python3-venv python3-xapian); fi
  for package in "${packages[@]}"; do
    Tools/install "$package" || say "No $package: the rows of what needs it stay empty"
  done
  [[ -x /usr/bin/python3 ]] || return 1
  engines=(/usr/bin/python3 Tools/search-engines.py)
  mkdir -p "$work/engines"
  printf '{"name": "Documents", "entities": [{"name": "Document", "attributes": [%s, %s], %s}]}\n' \
    '{"name": "title", "type": "string"}' '{"name": "body", "type": "string"}' \
    '"spotlight": {"displayName": "title", "attributes": {"title": 2, "body": 1}}' \
    >"$work/engines/model.json"
  if $peers; then
    say 'Installing with pip, into the temporary folder: tantivy'
    if /usr/bin/python3 -m venv --system-site-packages "$work/engines/python" >&2 &&
      timeout "$limit" "$work/engines/python/bin/pip" install --quiet \
        --disable-pip-version-check tantivy >&2; then
      engines[0]=$work/engines/python/bin/python
    else
      say 'pip could not install tantivy; its rows stay empty'
    fi
    say "Engines: $("${engines[@]}" versions)"
  fi
}

# Prints Debian's package lists. Many machines keep only the first line of each description, so that
# apt reads the descriptions into a folder of this run; the machine's own lists do not change.
package_paragraphs() {
  local lists=$work/engines/lists file
  cat /var/lib/dpkg/status 2>/dev/null || true
  printf '\n'
  apt-cache dumpavail 2>/dev/null || true
  mkdir -p "$lists/partial"
  say "Reading the packages' descriptions with apt"
  timeout "$limit" apt-get -qq -o Dir::State::Lists="$lists" -o Dir::Cache::pkgcache= \
    -o Dir::Cache::srcpkgcache= -o Acquire::Languages=en update >&2 ||
    say 'apt has no descriptions; the texts are those of this machine'
  for file in "$lists"/*Translation-en*; do
    [[ -e $file ]] || continue
    printf '\n'
    /usr/lib/apt/apt-helper cat-file "$file" || true
  done
}

# engine_texts CORPUS: writes the documents of a corpus once.
engine_texts() {
  local file=$work/engines/$1.jsonl
  if [[ -s $file ]]; then return; fi
  case $1 in
    en) package_paragraphs | "${engines[@]}" packages --count "$engine_packages" ;;
    cjk) "${engines[@]}" catalogues zh_CN zh_TW ja --count "$engine_packages" ;;
    *) "${engines[@]}" catalogues "$1" --count "$known_count" ;;
  esac >"$file"
  [[ -s $file ]] || { say "This machine has no texts for $1" && return 1; }
}

# serve_documents CORPUS: serves a store of the corpus, which is imported once.
serve_documents() {
  local store=$work/engines/$1
  [[ -x $cordial ]] || return 1
  stop documents
  rm -f "$work/engines.sock"
  if [[ ! -e $store ]]; then
    timeout "$limit" "$cordial" import "$store" "$store.jsonl" --model "$work/engines/model.json" \
      --batch 10000 --no-index >/dev/null 2>>"$work/cordial.log" || return 1
  fi
  "$cordial" serve "$store" --socket "$work/engines.sock" </dev/null >/dev/null \
    2>>"$work/cordial.log" &
  pids[documents]=$!
  "$bench" wait --socket "$work/engines.sock" >/dev/null
}

# measure_engine KEY ARGUMENT...: adds the figures of one run of the driver.
measure_engine() { measure "$1" "${engines[@]}" "${@:2}"; }

# index_documents CORPUS ENGINE...: builds the index of Cordial and those of other engines.
index_documents() {
  local corpus=$1 file=$work/engines/$1.jsonl name
  shift
  if serve_documents "$corpus"; then
    measure_engine "engines-$corpus-cordial" index cordial "$file" --at "$work/engines.sock"
    stop documents
    # A service that has ended has left no log of SQLite beside the index.
    printf '{"fileBytes":%s}\n' "$(stat -c %s "$work/engines/$corpus/index.sqlite")" \
      >>"$work/figures/engines-$corpus-cordial"
  fi
  $peers || return 0
  for name in "$@"; do
    rm -rf "$work/engines/index-$name"
    measure_engine "engines-$corpus-$name" index "$name" "$file" \
      --at "$work/engines/index-$name"
  done
}

row_engines() {
  local run name file=$work/engines/en.jsonl
  start_engines && engine_texts en || return 0
  for ((run = 0; run < engine_runs; run++)); do
    index_documents en "${engine_names[@]}"
    # A new service, whose caches are as empty as those of the peers.
    if serve_documents en; then
      measure_engine engines-search-cordial search cordial "$file" --at "$work/engines.sock" \
        --count "$engine_queries"
      stop documents
    fi
    $peers || continue
    for name in "${engine_names[@]}"; do
      measure_engine "engines-search-$name" search "$name" "$file" \
        --at "$work/engines/index-$name" --count "$engine_queries"
    done
  done
  if engine_texts cjk; then
    for ((run = 0; run < engine_runs; run++)); do
      index_documents cjk trigrams
      if $peers; then
        measure engines-cjk-words "$bench" words --documents "$work/engines/cjk.jsonl" \
          --file "$work/engines/words.sqlite"
      fi
    done
  fi
  engine_rows
}

engine_rows() {
  local name queries documents
  documents=$(wc -l <"$work/engines/en.jsonl")
  queries="2 words of $documents packages"
  engine_row p50 "$queries, p50" fts5 'FTS5 rank and count'
  engine_row p50 "$queries, p50" xapian 'Xapian, exact count'
  engine_row p50 "$queries, p50" tantivy 'Tantivy, two fields'
  engine_row p50 "$queries, p50" tantivy-text 'Tantivy, one field' '<= 1.5 x'
  engine_row p99 'the same, p99' fts5 'FTS5 rank and count' '<= 100'
  engine_row p99 'the same, p99' xapian 'Xapian, exact count' '< 1 x'
  engine_row p99 'the same, p99' tantivy 'Tantivy, two fields'
  engine_row p99 'the same, p99' tantivy-text 'Tantivy, one field'
  for name in fts5 xapian tantivy; do
    row 'packages into the index' MB/s "$(engine_title "$name")" \
      "$(figure "engines-en-$name" megabytesPerSecond)" \
      "$(figure engines-en-cordial megabytesPerSecond)" \
      "$(search_goal "$([[ $name == fts5 ]] && echo '>= 1 x' || echo '> 1 x')")"
  done
  row 'Chinese, Japanese into the index' MB/s 'FTS5, words of ICU' \
    "$(figure engines-cjk-words megabytesPerSecond)" \
    "$(figure engines-cjk-cordial megabytesPerSecond)" "$(search_goal '>= 0.8 x')"
  row 'Chinese, Japanese into the index' MB/s 'FTS5 trigram' \
    "$(figure engines-cjk-trigrams megabytesPerSecond)" \
    "$(figure engines-cjk-cordial megabytesPerSecond)"
  size_rows 'size of the index of packages' en 0.7 fts5 xapian tantivy
  size_rows 'of Chinese, Japanese' cjk 1.3 trigrams words
}

# engine_row PERCENTILE NAME ENGINE PEER [GOAL]
engine_row() {
  row "$2" us "$4" "$(figure "engines-search-$3" "${1}Microseconds")" \
    "$(figure engines-search-cordial "${1}Microseconds")" "$(search_goal "${5-}")"
}

# size_rows NAME CORPUS GOAL ENGINE...: beside the texts, and beside the indexes of the peers.
size_rows() {
  local name=$1 corpus=$2 goal=$3 size engine
  shift 3
  size=$(figure "engines-$corpus-cordial" fileBytes)
  row "$name" bytes 'the text' "$(figure "engines-$corpus-cordial" textBytes)" "$size" \
    "$(search_goal "<= $goal x")"
  for engine in "$@"; do
    row "$name" bytes "$(engine_title "$engine")" "$(figure "engines-$corpus-$engine" bytes)" \
      "$size"
  done
}

engine_title() {
  case $1 in
    fts5) echo 'FTS5 unicode61' ;;
    trigrams) echo 'FTS5 trigram' ;;
    words) echo 'FTS5, words of ICU' ;;
    xapian) echo 'Xapian' ;;
    tantivy) echo 'Tantivy' ;;
    tantivy-stems) echo 'Tantivy, stems' ;;
  esac
}

# --- Known items: the title of a document, its title with a mistake, half of its title ------------

row_known() {
  local corpus name kind peers_of
  start_engines || return 0
  for corpus in en de fr ru ja zh_CN ko th; do
    engine_texts "$corpus" || continue
    peers_of=(fts5 trigrams xapian tantivy)
    if [[ $corpus == en ]]; then peers_of+=(tantivy-stems); fi
    if serve_documents "$corpus"; then
      measure_engine "engines-$corpus-known" index cordial "$work/engines/$corpus.jsonl" \
        --at "$work/engines.sock"
      measure_known "$corpus" cordial "$work/engines.sock"
      stop documents
    fi
    if $peers; then
      for name in "${peers_of[@]}"; do
        rm -rf "$work/engines/index-$name"
        measure_engine "engines-$corpus-known" index "$name" "$work/engines/$corpus.jsonl" \
          --at "$work/engines/index-$name" --language "$corpus"
        measure_known "$corpus" "$name" "$work/engines/index-$name"
      done
    fi
    for kind in title typo half; do known_row "$corpus" "$kind" "${peers_of[@]}"; done
  done
}

# measure_known CORPUS ENGINE PLACE
measure_known() {
  measure_engine "known-$1-$2" known "$2" "$work/engines/$1.jsonl" --at "$3" --language "$1" \
    --count "$known_items"
}

# known_row CORPUS KIND ENGINE...: the part of the items that come first, beside the best peer.
known_row() {
  local corpus=$1 kind=$2 ours='' best='' peer='' name text success
  shift 2
  ours=$(figure "known-$corpus-cordial" "${kind}Success")
  for name in "$@"; do
    success=$(figure "known-$corpus-$name" "${kind}Success")
    if [[ -n $success ]] && awk "BEGIN { exit !($success > ${best:--1}) }"; then
      best=$success peer=$(engine_title "$name")
    fi
  done
  if [[ -z $ours$best ]]; then return; fi
  case $kind in
    title) text='title' ;;
    typo) text='mistyped title' ;;
    half) text='half a title' ;;
  esac
  row "first by $text, $corpus" percent "$peer" "$best" "$ours" "$(search_goal '>= 1 x')"
}

# Prints every engine's figures as members of a JSON array, for print_json.
known_json() {
  local files=("$work"/figures/known-*)
  [[ -s ${files[0]} ]] || return 0
  awk '{ printf "%s\n%s", (NR > 1 ? "," : ""), $0 }' "${files[@]}"
}
