# shellcheck shell=bash
# The rows about what people type: mistakes, halves of words, questions. Tools/bench reads this file
# and runs row_classes; Tools/search-classes.py makes the corpus and the queries, and has the peers.

if $quick; then classes_count=5; else classes_count=40; fi
# Even seeds are for the end: while the search changes, look at those of odd ones.
classes_seed=1

row_classes() {
  local folder=$work/classes tool=(/usr/bin/python3 Tools/search-classes.py) options=()
  [[ -x $cordial ]] || return 0
  Tools/install python3 unicode-data dpkg || return 0
  mkdir -p "$folder"
  say 'Making the corpus of the classes'
  if ! timeout "$limit" "${tool[@]}" corpus --out "$folder" >&2; then
    say 'No corpus: the rows of the classes stay empty'
    return 0
  fi
  "${tool[@]}" queries --documents "$folder/documents.jsonl" --seed "$classes_seed" \
    --count "$classes_count" --out "$folder/queries.jsonl" >&2
  "${tool[@]}" answers --program "$cordial" --documents "$folder/documents.jsonl" \
    --queries "$folder/queries.jsonl" --out "$folder/answers.jsonl" >&2
  if "${tool[@]}" thesaurus --out "$folder" >&2; then
    "${tool[@]}" answers --program "$cordial" --documents "$folder/documents.jsonl" \
      --queries "$folder/queries.jsonl" --synonyms "$folder/synonyms.txt" \
      --out "$folder/synonyms.jsonl" >&2
    options+=(--synonyms "$folder/synonyms.jsonl")
  fi
  if $peers; then
    "${tool[@]}" peers --documents "$folder/documents.jsonl" \
      --queries "$folder/queries.jsonl" --out "$folder/peers.json" >&2
    options+=(--peers "$folder/peers.json")
  fi
  "${tool[@]}" rows --queries "$folder/queries.jsonl" --answers "$folder/answers.jsonl" \
    "${options[@]}" >>"$work/rows"
}
