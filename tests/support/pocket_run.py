"""The pre-trainings of the next pocket, on a machine that is lent for half an hour, by calls of at most ten minutes.

The first pocket goes on learning, from other text, with more positions, and is compared with the first one by
`pocket_compare.py` (`taught`, with a teacher, is there to be compared, too). A third run has drawn weights: how
abilities emerge.

The text is tokenised beforehand (`pack`), so that no minute of the machine goes to it, and travels with the teacher
and the tasks' data, in as many parts as there must be: a call takes 64 MiB, of which the repository is half.
Only what a call carries is in its working tree: `bring` copies that to /tmp, where everything else happens.
`start` trains in a session of its own, which goes on when the call ends, and takes up what broke off; `status` says
how far it is; `wait` ends when all are done, when one breaks, or before the call would; `collect` copies to $OUT what
wasn't fetched yet: the small files, and up to four files of weights a call (16 MB each of 64), the last ones first.

    here     pocket_run.py pack carry TEXT ... --teacher MODEL    carry/call-1 and so on (all text: 3 to 5)
    1 to N   pocket_run.py bring carry/call-1                     each call with its own folder alone as `carry`
    N        ...; setsid bash tests/support/pocket_all.sh ...     trains, scores, compares, runs the findings
    N + 1    pocket_run.py wait plain; pocket_run.py collect plain

A machine that nobody calls for half a minute is gone with all that is on it, whatever is done meanwhile. So these
calls are sent together. It is held for half an hour at most, its start and the calls that bring included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from pocket_cargo import TEXTS, bring, pack

HERE = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("POCKET_RUN", "/tmp/pocket-run"))
GOODS = PLACE / "goods"
RECIPE: dict[str, Any] = {
    "start": "pocket", "positions": 512, "length": 128, "short_share": 0.25, "long_share": 0.1, "mask_rate": 0.2,
    "next_sentence": True, "batch_tokens": 131_072, "learning_rate": 1e-3, "warmup": 0.05, "dropout": 0.0,
    "compiled": True, "half": True,
}  # fmt: skip
RECIPE |= json.loads(os.environ.get("POCKET_RECIPE", "{}"))  # a rehearsal's
RUNS: dict[str, dict[str, Any]] = {
    "taught": {"teacher": str(GOODS / "teacher"), "teacher_weight": 4.0},
    "plain": {},
    # Small steps, so that there are many in its minutes; twelve layers that are drawn need some 300 of warm-up.
    "emerging": {
        "init": "random",
        "batch_tokens": 32_768,
        "learning_rate": 1.5e-3,
        "warmup": 0.05,
        "keep": "log",
        "checkpoints": 12,
    },
}
TOGETHER = 4


def settle() -> None:
    """The sources, as they are in this call, to where they stay."""
    for part in ("src", "tests/support"):
        shutil.copytree(HERE / part, PLACE / "tree" / part, dirs_exist_ok=True)


def start(run: str, minutes: float) -> None:
    """Begin, or take up, in a session of its own, which outlives the call; unless something didn't come along."""
    if not GOODS.exists():
        raise SystemExit(f"{GOODS} isn't there: not all parts were brought, and nothing is begun")
    place = PLACE / run
    if goes_on(run) or (place / "done").exists():
        raise SystemExit(f"{run} is not begun again: {status(run)}")
    place.mkdir(exist_ok=True)
    with (place / "log").open("a") as log:
        script = str(PLACE / "tree/tests/support/pocket_run.py")
        words = [sys.executable, script, "once", run, "--minutes", str(minutes)]
        # The log also has why a compiled layer is compiled anew: that breaks the recording of a step.
        talking = os.environ | {"TORCH_LOGS": "recompiles", "PYTHONUNBUFFERED": "1"}
        how = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, "start_new_session": True, "cwd": place}
        (place / "pid").write_text(str(subprocess.Popen(words, env=talking, **how).pid))


def once(run: str, minutes: float) -> None:
    """Train, in this process."""
    sys.path.insert(0, str(HERE / "src"))
    import bertscope
    from bertscope.data.documents import Documents
    from bertscope.training.packed_text import PackedText
    from bertscope.training.pretrain import measure

    began, place = time.perf_counter(), PLACE / run
    text = unpacked(place / "model.text")
    # It is this text, whatever another version of the tokenizer's library calls it.
    measure.packed_text = lambda _, folder, digest, **how: replace(PackedText.open(folder), digest=digest)
    known = json.loads((GOODS / "text" / TEXTS).read_text(encoding="utf-8"))
    texts = [Documents(one["name"], (), one["digest"]) for one in known]  # tokenised already: no file is opened
    settings = RECIPE | RUNS[run] | {"minutes": minutes}
    made = bertscope.pretrain(texts, **settings, out=text.with_name("model"))
    made.result.save(place / "result")
    (place / "done").write_text(f"{time.perf_counter() - began:.0f} seconds in all\n")


def unpacked(text: Path) -> Path:
    """The tokenised text, where a training looks for it, and which it removes at its end."""
    if not text.exists():
        scratch = text.with_name("unpacking")
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(GOODS / "text", scratch, ignore=shutil.ignore_patterns(TEXTS))
        scratch.rename(text)
    return text


def curve(run: str) -> list[dict[str, float]]:
    history = PLACE / run / "model.checkpoint/history.json"
    try:
        return json.loads(history.read_text())["epochs"]
    except (OSError, ValueError):  # none yet, or it is being written
        return []


def goes_on(run: str) -> bool:
    """Whether it is still being trained: neither done nor broken."""
    place = PLACE / run
    if (place / "done").exists() or not (place / "pid").exists():
        return False
    try:
        state = Path("/proc", (place / "pid").read_text(), "stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"  # who died and wasn't buried


def broke(run: str) -> bool:
    return (PLACE / run / "pid").exists() and not (PLACE / run / "done").exists() and not goes_on(run)


def status(run: str) -> str:
    place = PLACE / run
    if (place / "done").exists():
        return "done: " + (place / "done").read_text().strip()
    if not (place / "log").exists():
        return "not begun"
    if broke(run):
        return "broken: " + (place / "log").read_text()[-1500:]
    if points := curve(run):
        last = points[-1]
        told = f"accuracy {last['score']:.4f}, {last['bits_per_word']:.3f} bits a word"
        return f"step {last['step']:,}, {last['seconds']:.0f} s, {told}"
    return "getting ready"


def wait(runs: list[str], seconds: float) -> None:
    """Until all are done, or one broke, which somebody has to look at while there is time."""
    until = time.time() + seconds
    while time.time() < until and any(map(goes_on, runs)) and not any(map(broke, runs)):
        time.sleep(1)


def collect(runs: list[str], out: Path) -> list[str]:
    """The small files, and weights that weren't fetched by an earlier call, called by their runs and steps."""
    fetched, new = PLACE / "fetched", list[Path]()
    fetched.mkdir(exist_ok=True)
    for run in runs:
        model = PLACE / run / "model"
        within = sorted(model.glob("checkpoint-*"), key=lambda path: -int(path.name.rpartition("-")[2]))
        for folder in (model, *within):
            name = f"{run}.safetensors" if folder == model else f"{run}-{folder.name}.safetensors"
            if (folder / "model.safetensors").exists() and not (fetched / name).exists():
                new.append(out / name)
                if len(new) <= TOGETHER:
                    shutil.copy(folder / "model.safetensors", out / name)
                    (fetched / name).touch()
        small = out / "small"
        small.mkdir()
        for path in (*model.glob("*.json"), PLACE / run / "log", PLACE / run / "done"):
            if path.exists():
                shutil.copy(path, small)
        (small / "curve.json").write_text(json.dumps(curve(run)))
        if (PLACE / run / "result").exists():
            shutil.copytree(PLACE / run / "result", small / "result")
        shutil.make_archive(str(out / run), "gztar", small)
        shutil.rmtree(small)
    return [f"{max(0, len(new) - TOGETHER)} more to fetch", *sorted(path.name for path in out.iterdir())]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pack", "bring", "start", "once", "status", "wait", "collect"))
    parser.add_argument("given", nargs="*", help="paths, or runs: " + ", ".join(RUNS))
    parser.add_argument("--minutes", type=float, default=13)
    parser.add_argument("--teacher", help="pack: all-MiniLM-L6-v2, its folder or name")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="pack: the tasks'")
    parser.add_argument("--room", type=float, help="pack: MiB a call; by default what the repository leaves of 64")
    parser.add_argument("--longest", type=float, default=560, help="wait: seconds")
    asked = parser.parse_args()
    if asked.what == "pack":
        folder, *texts = asked.given
        room = None if asked.room is None else round(asked.room * 2**20)
        calls = pack(Path(folder), texts, RECIPE, asked.teacher, asked.data, room)
        print(f"{calls} calls bring it: {folder}/call-1 to call-{calls}")
    elif asked.what == "bring":
        print(bring(Path(asked.given[0]), PLACE))
        settle()
    elif asked.what == "collect":
        print(*collect(asked.given, Path(os.environ["OUT"])), sep="\n")
    elif asked.what == "wait":
        wait(asked.given, asked.longest)
    else:
        for run in asked.given:
            if asked.what != "status":
                (start if asked.what == "start" else once)(run, asked.minutes)
    if asked.what not in ("pack", "bring"):
        print(*(f"{run}: {status(run)}" for run in asked.given), sep="\n")
