#!/usr/bin/env bash
# All that the next pocket needs of a GPU machine, once its parts are brought: one process that outlives the calls.
#
#     setsid bash tests/support/pocket_all.sh 11 4 200 >/tmp/pocket-run/all.log 2>&1 &
#
# 1. `taught` and `plain` are trained side by side for so many minutes.
# 2. Both are scored and compared with the first pocket (its scores: $place/old.json); beside that `emerging` is trained
#    for so many minutes.
# 3. The better one by its mean gain takes pocket's place in the copy of the sources, and the studies of docs/findings
#    run for so many seconds; beside that the first pocket is scored anew.
set -u
minutes=$1 emerging=$2 seconds=$3
place=${POCKET_RUN:-/tmp/pocket-run}
tree=$place/tree data=$place/goods/data shipped=$place/tree/src/bertscope/models/pocket
export PYTHONPATH=$tree/src:$tree/tests/support OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
compare() { python3 "$tree/tests/support/pocket_compare.py" "$@"; }
score() { compare score "$1" --data "$data" --out "$place/$2.json" --workers "$3" ${POCKET_SCORE:-} >"$place/$2.score.log" 2>&1; }
run() { python3 "$tree/tests/support/pocket_run.py" "$@"; }
told() { echo "[$(($(date +%s) - began)) s] $*"; }

began=$(date +%s)
cp -r "$shipped" "$place/first"
nvidia-cuda-mps-control -d  # so that processes work at once
run start taught plain --minutes "$minutes"
for one in taught plain; do run wait $one --longest 3000 >/dev/null; done
told "$(run status taught plain | tr '\n' ' ')"
run start emerging --minutes "$emerging"
for one in taught plain; do
  [ -e "$place/$one/done" ] && score "$place/$one/model" $one 7 &
  scoring="${scoring:-} $!"
done
wait $scoring
told "scored"
for one in taught plain; do
  [ -e "$place/$one.json" ] || continue
  compare table "$place/old.json" "$place/$one.json" --out "$place/$one.compared.json" | tee "$place/$one.table"
done
best=$(cd "$place" && python3 - <<'P'
import json, pathlib
gains = {one: json.loads(path.read_text())["mean"]["gain"] for one in ("taught", "plain")
         if (path := pathlib.Path(f"{one}.compared.json")).exists()}
print(max(gains, key=gains.get) if gains else "")
P
)
told "the better one: $best"
echo "$best" >"$place/best"
[ -n "$best" ] || exit 1
score "$place/first" first 4 &
cp "$place/$best/model/model.safetensors" "$shipped/"
sed -i 's/"max_position_embeddings": 128/"max_position_embeddings": 512/' "$shipped/config.json"
python3 "$tree/tests/support/findings_run.py" ${FINDINGS:-heads layers} \
  --data "$data" --store "$place/store" --out "$place/findings" --commit "${COMMIT:-}" --workers 10 \
  --seconds "$seconds" --set heads:data=null --set heads:questions.relations.on=corpus \
  ${FINDINGS_SETS:-} >"$place/findings.log" 2>&1
told "findings: $(tail -n 5 "$place/findings.log" | tr '\n' ' ')"
wait
told "all done"
