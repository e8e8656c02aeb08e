"""The pre-trainings of the next pocket, on a machine that is lent for half an hour, by calls of at most ten minutes.

The first pocket goes on learning, from other text, with more positions: with a teacher and without one, side by side,
and both are compared with the first one by `pocket_compare.py`. A third run has drawn weights: how abilities emerge.

The text is tokenised beforehand (`pack`), so that no minute of the machine goes to it, and travels in three parts.
Only what a call carries is in its working tree: `bring` copies that to /tmp, where everything else happens.
`start` trains in a session of its own, which goes on when the call ends; `status` says how far it is; `collect`
copies to $OUT what wasn't fetched yet: the small files, and up to four files of weights a call (16 MB each of 64),
the last ones first.

    here     pocket_run.py pack FOLDER TEXT ...              the text, as FOLDER/part-1 to part-3
    1, 2     pocket_run.py bring CARRIED                     parts of 25 MB, the teacher, the tasks' data
    2        pocket_run.py start taught plain --minutes 15   (with NVIDIA's MPS they work at once)
    3        pocket_run.py wait taught plain; pocket_run.py collect taught plain
    4        pocket_run.py start emerging --minutes 4; pocket_compare.py score /tmp/pocket-run/taught/model ...

A machine that nobody calls for half a minute is gone with all that is on it. So these calls are sent together.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("POCKET_RUN", "/tmp/pocket-run"))
TEACHER = "all-MiniLM-L6-v2"  # its weights in half precision, for the way
RECIPE: dict[str, Any] = {
    "start": "pocket", "positions": 512, "length": 128, "short_share": 0.25, "long_share": 0.1, "mask_rate": 0.2,
    "next_sentence": True, "batch_tokens": 131_072, "learning_rate": 1e-3, "warmup": 0.05, "dropout": 0.0,
    "compiled": True, "half": True,
}  # fmt: skip
RECIPE |= json.loads(os.environ.get("POCKET_RECIPE", "{}"))  # a rehearsal's
RUNS: dict[str, dict[str, Any]] = {
    "taught": {"teacher": str(PLACE / "parts" / TEACHER), "teacher_weight": 3.0},
    "plain": {},
    "emerging": {"init": "random", "learning_rate": 2e-3, "keep": "log", "checkpoints": 12},
}
PARTS, TOGETHER = 3, 4
TEXTS = "texts.json"


def pack(folder: Path, texts: list[str]) -> None:
    """Tokenise as the first pocket does, and divide what is packed into parts that fit a call each."""
    from bertscope.data.documents import open_documents
    from bertscope.models.load import load
    from bertscope.training.pretrain.beginning import beginning
    from bertscope.training.pretrain.measure import _read
    from bertscope.training.pretrain.question import PretrainConfig

    documents, whole = [open_documents(one) for one in texts], folder / "whole"
    config = PretrainConfig(**{name: value for name, value in RECIPE.items() if name != "start"})
    begun = beginning(load(RECIPE["start"]), config)
    config = begun.shaped(config)
    _read(documents, config, whole, resume=True, reader=begun.reader(config))
    known = [{"name": one.name, "digest": one.digest} for one in documents]
    how = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 1, "pb": 1}]  # numbers of two bytes
    words = (whole / "train.bin").read_bytes()
    size = -(-len(words) // (2 * PARTS)) * 2
    for part in range(PARTS):
        place = folder / f"part-{part + 1}"
        place.mkdir(parents=True, exist_ok=True)
        some = words[part * size : (part + 1) * size]
        (place / f"train-{part + 1}.xz").write_bytes(lzma.compress(some, filters=how))
    for path in whole.iterdir():
        if path.name != "train.bin":
            shutil.copy(path, folder / "part-1")
    (folder / "part-1" / TEXTS).write_text(json.dumps(known), encoding="utf-8")


def bring(carried: Path) -> None:
    """What this call carries, and the sources, to where they stay."""
    (PLACE / "parts").mkdir(parents=True, exist_ok=True)
    for path in carried.iterdir():
        if path.is_dir():
            shutil.copytree(path, PLACE / "parts" / path.name, dirs_exist_ok=True)
        else:
            shutil.copy(path, PLACE / "parts")
    if not (PLACE / "tree").exists():
        shutil.copytree(HERE / "src", PLACE / "tree/src")
        (PLACE / "tree/tests/support").mkdir(parents=True)
        for script in Path(__file__).parent.glob("pocket_*.py"):
            shutil.copy(script, PLACE / "tree/tests/support")


def start(run: str, minutes: float) -> None:
    """Begin in a session of its own, which outlives the call; unless something didn't come along."""
    needed = [TEXTS, TEACHER, *(f"train-{part + 1}.xz" for part in range(PARTS))]
    if missing := [name for name in needed if not (PLACE / "parts" / name).exists()]:
        raise SystemExit(f"{', '.join(missing)} weren't brought: nothing is begun")
    place = PLACE / run
    place.mkdir()
    with (place / "log").open("w") as log:
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
    known = json.loads((PLACE / "parts" / TEXTS).read_text(encoding="utf-8"))
    texts = [Documents(one["name"], (), one["digest"]) for one in known]  # tokenised already: no file is opened
    settings = RECIPE | RUNS[run] | {"minutes": minutes}
    made = bertscope.pretrain(texts, **settings, out=text.with_name("model"))
    made.result.save(place / "result")
    (place / "done").write_text(f"{time.perf_counter() - began:.0f} seconds in all\n")


def unpacked(text: Path) -> Path:
    """The tokenised text, where a training looks for it."""
    parts, scratch = PLACE / "parts", text.with_name("unpacking")
    scratch.mkdir(exist_ok=True)
    for path in parts.iterdir():
        if path.is_file() and path.suffix != ".xz" and path.name != TEXTS:
            shutil.copy(path, scratch)
    with (scratch / "train.bin").open("wb") as file:
        for part in range(PARTS):
            file.write(lzma.decompress((parts / f"train-{part + 1}.xz").read_bytes()))
    return scratch.rename(text)


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


def status(run: str) -> str:
    place = PLACE / run
    if (place / "done").exists():
        return "done: " + (place / "done").read_text().strip()
    if not (place / "log").exists():
        return "not begun"
    if not goes_on(run):
        return "broken: " + (place / "log").read_text()[-1500:]
    if points := curve(run):
        last = points[-1]
        told = f"accuracy {last['score']:.4f}, {last['bits_per_word']:.3f} bits a word"
        return f"step {last['step']:,}, {last['seconds']:.0f} s, {told}"
    return "getting ready"


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
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--longest", type=float, default=560, help="wait: seconds")
    asked = parser.parse_args()
    if asked.what == "pack":
        pack(Path(asked.given[0]), asked.given[1:])
    elif asked.what == "bring":
        bring(Path(asked.given[0]))
    elif asked.what == "collect":
        print(*collect(asked.given, Path(os.environ["OUT"])), sep="\n")
    elif asked.what == "wait":
        until = time.time() + asked.longest
        while time.time() < until and any(map(goes_on, asked.given)):
            time.sleep(1)
    else:
        for run in asked.given:
            if asked.what != "status":
                (start if asked.what == "start" else once)(run, asked.minutes)
    if asked.what not in ("pack", "bring"):
        print(*(f"{run}: {status(run)}" for run in asked.given), sep="\n")
