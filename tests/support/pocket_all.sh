#!/usr/bin/env bash
# All that the next pocket needs of a GPU machine, once its parts are brought: one process that outlives the calls.
#
#     setsid bash tests/support/pocket_all.sh 14 7 1350 1450 1560 >/tmp/pocket-run/all.log 2>&1 &
#
# 1. `plain` is trained for so many minutes; beside it the first pocket is scored.
# 2. `plain` is scored and compared with it; beside that, and what follows, `emerging` is trained for so many minutes.
# 3. Where its mean gain is above 0, it takes pocket's place in the copy of the sources; the studies of docs/findings run
#    until so many seconds after the beginning: pocket's, and then those of the teacher, which is all-MiniLM-L6-v2.
# 4. Until the last so many seconds the series of `emerging` is asked for docs/findings/emergence.md.
set -u
minutes=$1 emerging=$2 pockets=$3 others=$4 end=$5
place=${POCKET_RUN:-/tmp/pocket-run}
tree=$place/tree data=$place/goods/data shipped=$place/tree/src/bertscope/models/pocket
export PYTHONPATH=$tree/src:$tree/tests/support OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
compare() { python3 "$tree/tests/support/pocket_compare.py" "$@"; }
score() { compare score "$1" --data "$data" --out "$place/$2.json" --workers "$3" ${POCKET_SCORE:-} >"$place/$2.score.log" 2>&1; }
run() { python3 "$tree/tests/support/pocket_run.py" "$@"; }
told() { echo "[$(($(date +%s) - began)) s] $*"; }
# study NAMES UNTIL OUT MORE...: the answers there is time for, with the excerpts that pages are written from
study() {
  local left=$(($2 + began - $(date +%s)))
  python3 "$tree/tests/support/findings_run.py" $1 --seconds "$((left > 20 ? left : 20))" --out "$place/$3" --data "$data" \
    --store "$place/store" --commit "${COMMIT:-}" --workers 12 "${@:4}" >"$place/$3.log" 2>&1
  told "$3: $(tail -n 8 "$place/$3.log" | tr '\n' ' ')"
}

began=$(date +%s)
cp -r "$shipped" "$place/first"
ln -sfn "$place/goods/teacher" "$data/all-MiniLM-L6-v2"
ln -sfn "$place/emerging/model" "$data/emerging"
nvidia-cuda-mps-control -d # so that processes work at once
run start plain --minutes "$minutes"
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30 score "$place/first" first 5 &
first=$!
run wait plain --longest 3000 >/dev/null
told "$(run status plain | tr '\n' ' ')"
[ -e "$place/plain/done" ] || exit 1
run start emerging --minutes "$emerging"
score "$place/plain/model" plain 12 &
wait $first $!
told "scored"
compare table "$place/first.json" "$place/plain.json" --out "$place/plain.compared.json" | tee "$place/plain.table"
if python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["mean"]["gain"] <= 0)' "$place/plain.compared.json"
then
  cp "$place/plain/model/model.safetensors" "$shipped/"
  sed -i 's/"max_position_embeddings": 128/"max_position_embeddings": 512/' "$shipped/config.json"
  told "plain is pocket from here on"
fi
study "${FINDINGS:-outputs layers heads causes training lottery}" "$pockets" findings ${FINDINGS_SETS:-}
study "heads layers" "$others" findings-minilm --set model=all-MiniLM-L6-v2 --set limit=2500 --set layers:models=null \
  --set 'tasks=[glue/STS-B, glue/SST-2]' \
  --set 'layers:questions=[similarity: {against: corpus, limit: 1000}, structure: {on: corpus, control: false}, probe: {on: corpus, targets: [pos, relation], probes: [linear], code: false}, geometry: {of: model, on: plain}]'
run wait emerging --longest 600
study emergence "$end" findings-emergence --set 'series={emerging: "emerging/checkpoint-*"}' \
  --set corpus=UD_English-EWT/en_ewt-ud-dev.conllu --set pairs=blimp/BLiMP.zip --set limit=1000 \
  --set 'questions=[{patterns: {of: emerging, limit: 500}}, {relations: {of: emerging}}, {structure: {of: emerging, random: false, control: false}}, {geometry: {of: emerging}}, {minimal-pairs: {of: emerging, limit: 2010}}]'
told "all done"
