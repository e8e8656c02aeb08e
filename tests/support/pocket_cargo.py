"""What the next pocket's training needs, as parts that travel one a call, and whole again on the other side.

A call's working tree, which is this repository and what is carried with it, may have 64 MiB. So all of it is one
archive (the tokenised text, the teacher in half precision, the tasks' data), cut where a call's room ends.
"""

from __future__ import annotations

import io
import json
import lzma
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[2]
TEXTS, WORDS = "texts.json", "train.bin"
TRAVELS = 64 * 2**20  # bytes, the repository's own files included
_SPARE = 2 * 2**20
_DATA = (
    "blimp/BLiMP.zip", "UD_English-EWT", "framenet-1.5-part.zip", "goemotions", "webmd/webmd.csv", "glue-10k/SNLI",
)  # fmt: skip


def pack(folder: Path, texts: list[str], recipe: dict[str, Any], teacher: str, data: Path, room: int | None) -> int:
    """Tokenise as the first pocket does; all that travels into `folder`/call-1 and so on: how many there are."""
    from pocket_compare import FINETUNED  # which needs bertscope; where it is brought, that isn't there yet

    goods, archive = folder / "goods", folder / "archive.tar"
    shutil.rmtree(goods, ignore_errors=True)
    for old in folder.glob("call-*"):
        shutil.rmtree(old)
    _tokenise(goods / "text", texts, recipe)
    _halve(teacher, goods / "teacher")
    how = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 1, "pb": 1}]  # numbers of two bytes
    words, rest = io.BytesIO(lzma.compress((goods / "text" / WORDS).read_bytes(), filters=how)), io.BytesIO()
    with tarfile.open(fileobj=rest, mode="w:xz") as inner:
        inner.add(goods / "text", "text", filter=lambda one: None if one.name.endswith(WORDS) else one)
        inner.add(goods / "teacher", "teacher")
        for name in (*FINETUNED.values(), *_DATA):
            inner.add(data / name, f"data/{name}")
    with tarfile.open(archive, "w") as outer:
        for name, held in ((f"{WORDS}.xz", words), ("rest.tar.xz", rest)):
            member = tarfile.TarInfo(name)
            member.size = held.seek(0, io.SEEK_END)
            held.seek(0)
            outer.addfile(member, held)
    if (most := room or TRAVELS - _SPARE - tree_bytes()) < 1:
        raise SystemExit("the repository alone is more than a call takes; git clean it, or ignore what is new")
    count = -(-archive.stat().st_size // most)
    each = -(-archive.stat().st_size // count)
    with archive.open("rb") as whole:
        for part in range(1, count + 1):
            place = folder / f"call-{part}"
            place.mkdir()
            (place / f"part-{part}-of-{count}").write_bytes(whole.read(each))
    archive.unlink()
    return count


def tree_bytes() -> int:
    """Of the files that travel with every call."""
    listed = ["git", "-C", str(HERE), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    return sum((HERE / name).stat().st_size for name in names if name and (HERE / name).exists())


def _tokenise(place: Path, texts: list[str], recipe: dict[str, Any]) -> None:
    from bertscope.data.documents import open_documents
    from bertscope.models.load import load
    from bertscope.training.pretrain.beginning import beginning
    from bertscope.training.pretrain.measure import _read
    from bertscope.training.pretrain.question import PretrainConfig

    documents = [open_documents(one) for one in texts]
    config = PretrainConfig(**{name: value for name, value in recipe.items() if name != "start"})
    begun = beginning(load(recipe["start"]), config)
    config = begun.shaped(config)
    _read(documents, config, place, resume=False, reader=begun.reader(config))
    known = [{"name": one.name, "digest": one.digest} for one in documents]
    (place / TEXTS).write_text(json.dumps(known), encoding="utf-8")


def _halve(teacher: str, place: Path) -> None:
    """Its last states are all that is asked of it: in half precision, for the way."""
    from bertscope.models.load import load

    load(teacher).save(place, half=True)


def bring(carried: Path, place: Path) -> str:
    """What this call carries to where it stays, and all of it whole once the last part is there; how far that is."""
    parts = place / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    for path in carried.glob("part-*"):
        shutil.copy(path, parts)
    counts = {int(path.name.rpartition("-")[2]) for path in parts.iterdir()}
    if len(counts) != 1:
        raise SystemExit(f"{carried} and what was brought before aren't parts of one archive: pack anew")
    (count,) = counts
    named = [parts / f"part-{part}-of-{count}" for part in range(1, count + 1)]
    if missing := [path.name for path in named if not path.exists()]:
        return f"still missing: {', '.join(missing)}"
    if not (place / "goods").exists():
        scratch, archive = place / "unpacking", place / "archive.tar"
        shutil.rmtree(scratch, ignore_errors=True)
        with archive.open("wb") as whole:
            for path in named:
                whole.write(path.read_bytes())
        with tarfile.open(archive) as outer:
            outer.extractall(scratch, filter="data")
        archive.unlink()
        with tarfile.open(scratch / "rest.tar.xz") as inner:
            inner.extractall(scratch, filter="data")
        (scratch / "text" / WORDS).write_bytes(lzma.decompress((scratch / f"{WORDS}.xz").read_bytes()))
        for name in ("rest.tar.xz", f"{WORDS}.xz"):
            (scratch / name).unlink()
        scratch.rename(place / "goods")
    return f"all of it is in {place / 'goods'}"
