"""The pre-training of the next pocket, on a machine that is lent for half an hour, by calls of at most ten minutes.

The text is tokenised beforehand (`pack`), so that no minute of the machine goes to it, and travels in three parts.
Only what a call carries is in its working tree: `bring` copies that to /tmp, where everything else happens.
`start` trains in a session of its own, which goes on when the call ends; `status` says how far it is; `collect`
copies to $OUT what wasn't fetched yet: the small files, and up to four files of weights a call (16 MB each of 64),
the last ones first.

    here     pocket_run.py pack FOLDER TEXT ...          vocabulary and text, as FOLDER/part-1 to part-3
    1        pocket_run.py bring carry/one               (a part of 25 MB, and the teacher's folder)
    2        pocket_run.py bring carry/two; pocket_trial.py (a choice of recipe, four minutes)
    3        pocket_run.py start; pocket_run.py wait; pocket_run.py collect
    4        pocket_run.py wait; pocket_run.py collect   (the model, and three checkpoints)
    5        pocket_compare.py score /tmp/pocket-run/model ...; pocket_run.py collect   (four more)

A machine that nobody calls for half a minute is gone with all that is on it. So these calls are sent together, each
of which does nothing where the one before failed (`test -e /tmp/pocket-run/pid`).

A training that has learnt nothing after an eighth of its time, or whose loss isn't finite, is begun again with half
the learning rate and the minutes that are left, twice at most.
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
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertscope.training.packed_text import PackedText

HERE = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("POCKET_RUN", "/tmp/pocket-run"))
MODEL = PLACE / "model"
CHOSEN = PLACE / "chosen.json"  # what pocket_trial.py found to be better
RECIPE: dict[str, Any] = {
    "layers": 12, "heads": 12, "units": 192, "vocabulary": 12_288, "positions": 512, "length": 128,
    "short_share": 0.25, "long_share": 0.1, "batch_tokens": 131_072, "learning_rate": 2e-3, "warmup": 0.05,
    "mask_rate": 0.2, "next_sentence": True, "dropout": 0.0, "compiled": True, "keep": "log",
    "checkpoints": 12, "half": True,
}  # fmt: skip
RECIPE |= json.loads(os.environ.get("POCKET_RECIPE", "{}"))  # a rehearsal's
PARTS, TOGETHER = 3, 4
TEACHER = "all-MiniLM-L6-v2"  # its weights in half precision, for the way
DEMO_WORDS = """thanked kate lily blamed remembers delicious hates polite gladly thanking buying locking stealing
    drinks reads eats laughs sleeps pushing loudly"""  # those that the text's own vocabulary has in pieces
LEARNT = 0.5  # bits for a word less than before any step, after
SOON = 1 / 8  # of the time
TEXTS = "texts.json"


def pack(folder: Path, texts: list[str]) -> None:
    """Tokenise, and divide what is packed into parts that fit a call each."""
    from bertscope.data.documents import open_documents
    from bertscope.training.packed_text import PackedText
    from bertscope.training.pretrain.measure import _read
    from bertscope.training.pretrain.question import PretrainConfig

    documents = [open_documents(one) for one in texts]
    learnt, whole = folder / "learnt", folder / "whole"
    _read(documents, PretrainConfig(**RECIPE, steps=1), learnt, resume=True)
    with_words(PackedText.open(learnt), whole)
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


def with_words(text: PackedText, folder: Path) -> None:
    """The same text, the demo's words being pieces of the vocabulary, in the place of its rarest ones: pairs of the
    demo differ in one word, and are to have as many pieces."""
    from transformers import BertTokenizer

    from bertscope.core.folders import whole_folder
    from bertscope.models.open_tokenizer import save_tokenizer
    from bertscope.training.retold import Retold
    from bertscope.training.taught_words import stretches

    known, names = text.tokenizer.get_vocab(), text.tokenizer.convert_ids_to_tokens(range(len(text.tokenizer)))
    new = [word for word in DEMO_WORDS.split() if word not in known]
    longer = (int(one) for one in text.frequencies().argsort(kind="stable") if len(names[one].lstrip("#[")) > 1)
    rare = list(islice((one for one in longer if one not in text.tokenizer.all_special_ids), len(new)))
    kept = {piece: number for piece, number in known.items() if number not in rare}
    tokenizer = BertTokenizer(
        vocab=kept | dict(zip(new, rare, strict=True)), do_lower_case=True, model_max_length=RECIPE["positions"]
    )
    told, counts = Retold(text.tokenizer, tokenizer), asdict(text.counts)
    with whole_folder(folder, "tokenised-text") as scratch:
        for name, ids, count in (("train", text.train, "pieces"), ("held_out", text.held_out, "held_out_pieces")):
            counts[count] = 0
            with (scratch / f"{name}.bin").open("xb") as file:
                for _, some in stretches(ids, told):
                    pieces = told.pieces(some)[0]
                    file.write(pieces.astype(ids.dtype).tobytes())
                    counts[count] += len(pieces)
        save_tokenizer(tokenizer, scratch)
        record = {"digest": text.digest, "dtype": str(text.train.dtype), "counts": counts}
        (scratch / "tokens.json").write_text(json.dumps(record), encoding="utf-8")


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


def unpack() -> None:
    """The tokenised text, where a training into MODEL looks for it."""
    text = MODEL.with_name(MODEL.name + ".text")
    if text.exists():
        return
    parts, scratch = PLACE / "parts", PLACE / "unpacking"
    scratch.mkdir(exist_ok=True)
    for path in parts.iterdir():
        if path.is_file() and path.suffix != ".xz" and path.name != TEXTS:
            shutil.copy(path, scratch)
    with (scratch / "train.bin").open("wb") as file:
        for part in range(PARTS):
            file.write(lzma.decompress((parts / f"train-{part + 1}.xz").read_bytes()))
    scratch.rename(text)


def start(minutes: float, tries: int) -> None:
    """Begin in a session of its own, which outlives the call; unless something didn't come along."""
    needed = [TEXTS, TEACHER, *(f"train-{part + 1}.xz" for part in range(PARTS))]
    if missing := [name for name in needed if not (PLACE / "parts" / name).exists()]:
        raise SystemExit(f"{', '.join(missing)} weren't brought: nothing is begun")
    with (PLACE / "log").open("w") as log:
        script = str(PLACE / "tree/tests/support/pocket_run.py")
        words = [sys.executable, script, "train", "--minutes", str(minutes), "--tries", str(tries)]
        # The log also has why a compiled layer is compiled anew: that breaks the recording of a step.
        talking = os.environ | {"TORCH_LOGS": "recompiles"}
        how = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, "start_new_session": True, "cwd": PLACE}
        (PLACE / "pid").write_text(str(subprocess.Popen(words, env=talking, **how).pid))


def train(minutes: float, tries: int) -> None:
    """Try, and try again with half the rate where nothing is learnt. Each try is a process: it can be ended."""
    unpack()
    began, rate = time.time(), RECIPE["learning_rate"]
    for attempt in range(1, tries + 1):
        if (left := minutes - (time.time() - began) / 60) <= 0:
            return
        words = [sys.executable, __file__, "once", "--minutes", f"{left:.3f}", "--rate", str(rate)]
        trying = subprocess.Popen(words, cwd=PLACE)
        while trying.poll() is None and not (attempt < tries and in_vain(left)):
            time.sleep(2)
        if trying.poll() == 0:
            return
        trying.kill()
        trying.wait()
        print(f"begun again: {status()} with a learning rate of {rate:g}", flush=True)
        rate /= 2
        for path in PLACE.glob("model.checkpoint*"):
            shutil.rmtree(path)
        shutil.rmtree(MODEL, ignore_errors=True)


def once(minutes: float, rate: float) -> None:
    sys.path.insert(0, str(HERE / "src"))
    import bertscope
    from bertscope.data.documents import Documents

    began = time.perf_counter()
    known = json.loads((PLACE / "parts" / TEXTS).read_text(encoding="utf-8"))
    texts = [Documents(one["name"], (), one["digest"]) for one in known]  # tokenised already: no file is opened
    chosen = json.loads(CHOSEN.read_text(encoding="utf-8")) if CHOSEN.exists() else {}
    settings = RECIPE | chosen | {"learning_rate": rate, "minutes": minutes}
    if settings.get("teacher_weight") != 0:
        settings["teacher"] = str(PLACE / "parts" / TEACHER)
    else:
        del settings["teacher_weight"]
    made = bertscope.pretrain(texts, **settings, out=MODEL)
    made.result.save(PLACE / "result")
    (PLACE / "done").write_text(f"{time.perf_counter() - began:.0f} seconds in all\n")


def in_vain(minutes: float) -> bool:
    """Whether so much time has passed that something should have been learnt, and nothing was."""
    points = curve()
    if not points or points[-1]["seconds"] < SOON * 60 * minutes:
        return False
    return points[0]["bits_per_word"] - points[-1]["bits_per_word"] < LEARNT


def curve() -> list[dict[str, float]]:
    history = PLACE / "model.checkpoint/history.json"
    try:
        return json.loads(history.read_text())["epochs"]
    except (OSError, ValueError):  # none yet, or it is being written
        return []


def goes_on() -> bool:
    """Whether it is still being trained: neither done nor broken."""
    if (PLACE / "done").exists() or not (PLACE / "pid").exists():
        return False
    try:
        state = Path("/proc", (PLACE / "pid").read_text(), "stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"  # who died and wasn't buried


def status() -> str:
    if (PLACE / "done").exists():
        return "done: " + (PLACE / "done").read_text().strip()
    if points := curve():
        last = points[-1]
        told = f"accuracy {last['score']:.4f}, {last['bits_per_word']:.3f} bits a word"
        return f"step {last['step']:,}, {last['seconds']:.0f} s, {told}"
    if not (PLACE / "log").exists():
        return "nothing was begun"
    return "getting ready" if goes_on() else "broken: " + (PLACE / "log").read_text()[-500:]


def collect(out: Path) -> list[str]:
    """The small files, and weights that weren't fetched by an earlier call, called by their checkpoints."""
    fetched = PLACE / "fetched"
    fetched.mkdir(exist_ok=True)
    found = [*MODEL.glob("checkpoint-*/model.safetensors"), *PLACE.glob("model.checkpoint-*/model.safetensors")]
    weights = {int(path.parent.name.rpartition("-")[2]): path for path in found}
    new = [step for step in sorted(weights, reverse=True) if not (fetched / str(step)).exists()]
    for step in new[:TOGETHER]:
        shutil.copy(weights[step], out / f"checkpoint-{step}.safetensors")
        (fetched / str(step)).touch()
    small = out / "small"
    small.mkdir()
    if weights:
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            shutil.copy(weights[max(weights)].parent / name, small)
    (small / "curve.json").write_text(json.dumps(curve()))
    for path in (PLACE / "log", PLACE / "done"):
        if path.exists():
            shutil.copy(path, small)
    if (PLACE / "result").exists():
        shutil.make_archive(str(small / "result"), "gztar", PLACE / "result")
    shutil.make_archive(str(out / "small"), "gztar", small)
    shutil.rmtree(small)
    return [f"{len(new) - len(new[:TOGETHER])} more to fetch", *sorted(path.name for path in out.iterdir())]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pack", "bring", "start", "train", "once", "status", "wait", "collect"))
    parser.add_argument("given", nargs="*")
    parser.add_argument("--minutes", type=float, default=14.3)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--rate", type=float, default=RECIPE["learning_rate"])
    parser.add_argument("--longest", type=float, default=560, help="wait: seconds")
    asked = parser.parse_args()
    if asked.what == "pack":
        pack(Path(asked.given[0]), asked.given[1:])
    elif asked.what == "bring":
        bring(Path(asked.given[0]))
    elif asked.what == "once":
        once(asked.minutes, asked.rate)
    elif asked.what in ("start", "train"):
        (start if asked.what == "start" else train)(asked.minutes, asked.tries)
    elif asked.what == "collect":
        print(*collect(Path(os.environ["OUT"])), sep="\n")
    elif asked.what == "wait":
        until = time.time() + asked.longest
        while time.time() < until and goes_on():
            time.sleep(1)
    print(status())
