"""The pre-training of the next pocket, on a machine that is lent for half an hour, by calls of at most ten minutes.

`start FILE ...` tokenises and trains, in a process of its own that goes on when the call ends; `status` says
how far it is; `collect N` copies a part of what came out to $OUT: the small files and the result with part 0, four
files of weights with each of parts 1 to 3. The machine goes back when no call comes for half a minute, so the calls
between only wait. Of 1,800 seconds, 90 are its start, 120 four calls that carry a text each, 60 the tokenising, 80
the four that collect: 23 minutes are left to train.

    1 to 4   true                                                        (carry one text each)
    5        pocket_run.py start TEXT TEXT TEXT TEXT; sleep 200; pocket_run.py status
             Accuracy still under 0.06 after 1,500 steps won't rise: start over with half the learning rate.
    6, 7     sleep 590; pocket_run.py status
    8 to 11  pocket_run.py collect 0, 1, 2, 3
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("POCKET_RUN", HERE / ".pocket-run"))
MODEL = PLACE / "model"
RECIPE = {
    "layers": 12, "heads": 12, "units": 192, "vocabulary": 12_288, "positions": 512, "length": 128,
    "long_share": 0.1, "batch_tokens": 131_072, "learning_rate": 1e-3, "warmup": 0.1, "mask_rate": 0.15,
    "next_sentence": True, "compiled": True, "keep": "log", "checkpoints": 12, "half": True,
}  # fmt: skip
TOGETHER = 4  # files of weights in a call: 16 MB each of 64


def start(texts: list[str], minutes: float) -> None:
    """Begin in a session of its own, which outlives the call."""
    PLACE.mkdir(exist_ok=True)
    with (PLACE / "log").open("w") as log:
        words = [sys.executable, str(Path(__file__).resolve()), "train", *texts, "--minutes", str(minutes)]
        subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, cwd=HERE)


def train(texts: list[str], minutes: float) -> None:
    sys.path.insert(0, str(HERE / "src"))
    import bertscope

    began = time.perf_counter()
    made = bertscope.pretrain(texts, minutes=minutes, out=MODEL, **RECIPE)
    made.result.save(PLACE / "result")
    (PLACE / "done").write_text(f"{time.perf_counter() - began:.0f} seconds in all\n")


def status() -> str:
    if (PLACE / "done").exists():
        return "done: " + (PLACE / "done").read_text().strip()
    history = PLACE / "model.checkpoint/history.json"
    if history.exists():
        last = json.loads(history.read_text())["epochs"][-1]
        return f"step {last['step']:,}, {last['seconds']:.0f} s, accuracy {last['score']:.4f}"
    return "reading the text" if (PLACE / "log").exists() else "nothing was begun"


def collect(part: int, out: Path) -> list[str]:
    """Part 0 has all but the weights; each of the others some of these, called by their checkpoints. What is kept so
    far can be fetched before the end, too."""
    found = [*MODEL.glob("checkpoint-*/model.safetensors"), *PLACE.glob("model.checkpoint-*/model.safetensors")]
    weights = sorted(found, key=lambda path: int(path.parent.name.rpartition("-")[2]))
    if part == 0:
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            shutil.copy(weights[-1].parent / name, out)
        shutil.copy(PLACE / "log", out)
        if (PLACE / "result").exists():
            shutil.make_archive(str(out / "result"), "gztar", PLACE / "result")
    else:
        for path in weights[(part - 1) * TOGETHER : part * TOGETHER]:
            step = path.parent.name.rpartition("-")[2]
            shutil.copy(path, out / f"checkpoint-{step}.safetensors")
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("start", "train", "status", "collect"))
    parser.add_argument("given", nargs="*")
    parser.add_argument("--minutes", type=float, default=23.0)
    asked = parser.parse_args()
    if asked.what in ("start", "train"):
        (start if asked.what == "start" else train)(asked.given, asked.minutes)
    elif asked.what == "collect":
        print(*collect(int(asked.given[0]), Path(os.environ["OUT"])), sep="\n")
    print(status())
