#!/usr/bin/env bash
# All that the next pocket needs of a GPU machine, once its parts are brought: one process that outlives the calls.
#
#     setsid bash tests/support/pocket_all.sh 14 300 plain >/tmp/pocket-run/all.log 2>&1 &
#
# 1. The runs that are named are trained side by side for so many minutes; beside them the first pocket is scored.
# 2. They are scored and compared with it.
# 3. The best one by its mean gain takes pocket's place in the copy of the sources, and the studies of docs/findings
#    run for so many seconds.
#
# 2026-11-19: 52 s from the first call to the first step; `plain` and `taught` for 11 minutes; 370 s to score both with
# 14 workers, beside another training.
set -u
minutes=$1 seconds=$2
shift 2
place=${POCKET_RUN:-/tmp/pocket-run}
tree=$place/tree data=$place/goods/data shipped=$place/tree/src/bertscope/models/pocket
export PYTHONPATH=$tree/src:$tree/tests/support OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
compare() { python3 "$tree/tests/support/pocket_compare.py" "$@"; }
score() { compare score "$1" --data "$data" --out "$place/$2.json" --workers "$3" ${POCKET_SCORE:-} >"$place/$2.score.log" 2>&1; }
run() { python3 "$tree/tests/support/pocket_run.py" "$@"; }
told() { echo "[$(($(date +%s) - began)) s] $*"; }

began=$(date +%s)
cp -r "$shipped" "$place/first"
nvidia-cuda-mps-control -d # so that processes work at once
run start "$@" --minutes "$minutes"
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30 score "$place/first" first 4 &
first=$!
for one in "$@"; do run wait "$one" --longest 3000 >/dev/null; done
told "$(run status "$@" | tr '\n' ' ')"
scoring=$first
for one in "$@"; do
  [ -e "$place/$one/done" ] && score "$place/$one/model" "$one" 10 &
  scoring="$scoring $!"
done
wait $scoring
told "scored"
for one in "$@"; do
  [ -e "$place/$one.json" ] || continue
  compare table "$place/first.json" "$place/$one.json" --out "$place/$one.compared.json" | tee "$place/$one.table"
done
best=$(python3 - "$place" "$@" <<'P'
import json, pathlib, sys
place, *runs = sys.argv[1:]
gains = {one: json.loads(path.read_text())["mean"]["gain"] for one in runs
         if (path := pathlib.Path(place, f"{one}.compared.json")).exists()}
print(max(gains, key=gains.get, default=""))
P
)
told "the best: $best"
[ -n "$best" ] || exit 1
cp "$place/$best/model/model.safetensors" "$shipped/"
sed -i 's/"max_position_embeddings": 128/"max_position_embeddings": 512/' "$shipped/config.json"
python3 "$tree/tests/support/findings_run.py" ${FINDINGS:-heads layers training causes lottery} \
  --data "$data" --store "$place/store" --out "$place/findings" --commit "${COMMIT:-}" --workers 10 \
  --seconds "$seconds" --set heads:data=null --set heads:questions.relations.on=corpus \
  ${FINDINGS_SETS:-} >"$place/findings.log" 2>&1
told "findings: $(tail -n 5 "$place/findings.log" | tr '\n' ' ')"
