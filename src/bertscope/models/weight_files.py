"""The files that hold a model's weights: which they are, and whether they are whole. Loads no torch."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from bertscope.core.errors import UserError, in_a_line
from bertscope.models.config_check import read_json

PICKLES = ("*.bin", "*.pt", "*.pth")
_ONE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_PICKLED, _PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
_LONGEST_HEADER = 100_000_000
"""Bytes; what safetensors itself allows."""
_LFS = b"version https://git-lfs"
_OF_MANY_MACHINES = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
"""Parts of a training on many machines, which the library would read in the place of everything else."""


def weight_files(folder: Path, *, allow_pickle: bool, of: Path | None = None) -> list[Path]:
    """The files that weights are read from; pickles only if the user insists, since opening one can run any code.
    `of` is the model's folder, where this is one inside it."""
    found = _files(folder, "*.safetensors")
    if parts := [path for path in found if _OF_MANY_MACHINES.fullmatch(path.name)]:
        raise UserError(f"{parts[0]} is a part of a training on many machines; save the model as one file first")
    if read := _named(folder, _ONE, _INDEX):
        for path in read:
            refuse_damaged(path)
        return read
    pickled = _files(folder, *PICKLES)
    if pickled and allow_pickle:
        if read := _named(folder, _PICKLED, _PICKLED_INDEX):
            return read
        raise UserError(f"{folder} has no {_PICKLED}, only {pickled[0].name}; give the weights the library's name")
    if pickled:
        raise UserError(
            f"{pickled[0]} is a pickle, which can run any code when opened; if you trust where it came from, convert "
            f"it: bertscope convert {shlex.quote(str(of or folder))} --allow-pickle (or load it in Python with "
            "allow_pickle=True)"
        )
    if found:
        raise UserError(f"{folder} has weights, {found[0].name}, under a name that isn't read; call them {_ONE}")
    raise UserError(f"{folder} has a config.json but no weights ({_ONE}); copy the model again")


def pickled_files(folder: Path) -> list[Path]:
    """The pickles in a folder that hold weights, under the library's names or PEFT's; none where safetensors do. A
    training's own (training_args.bin, optimizer.pt) are nobody's weights."""
    if (folder / _ONE).exists() or (folder / _INDEX).exists() or (folder / "adapter_model.safetensors").exists():
        return []
    adapter = folder / "adapter_model.bin"
    return _named(folder, _PICKLED, _PICKLED_INDEX) or ([adapter] if adapter.exists() else [])


def weights_held(files: Iterable[Path]) -> int | None:
    """How many numbers the files hold, by their headers; None of pickles, which have none."""
    files = list(files)
    if any(path.suffix != ".safetensors" for path in files):
        return None
    return sum(math.prod(tensor["shape"]) for path in files for tensor in stored_tensors(path).values())


def stored_tensors(path: Path) -> dict[str, dict[str, Any]]:
    """What the header of a safetensors file says of each tensor, by name: `dtype`, `shape`, `data_offsets`. Only of a
    file that isn't damaged can it be relied on."""
    with path.open("rb") as file:
        header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), _LONGEST_HEADER)))
    return {name: tensor for name, tensor in header.items() if name != "__metadata__"}


def _files(folder: Path, *patterns: str) -> list[Path]:
    """What of these names isn't a folder: somebody may keep `old.bin/` there."""
    return sorted(path for pattern in patterns for path in folder.glob(pattern) if not path.is_dir())


def _named(folder: Path, one: str, index: str) -> list[Path]:
    """The library's one file, or else those that its index names; nothing outside the folder, and none that lacks."""
    if (folder / one).exists():
        return [folder / one]
    if not (folder / index).exists():
        return []
    said = read_json(folder / index)
    places = said.get("weight_map") if isinstance(said, dict) else None
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise UserError(f"{folder / index} doesn't say in which file each weight is; copy the model again")
    present = {path.name for path in _files(folder, "*")}
    for name in sorted(set(places.values())):
        if Path(name).name != name or Path(name).suffix != Path(one).suffix:
            raise UserError(f"{folder / index} names {name!r}: weights are read from files of the folder alone; "
                            "put it there, and its name into the index")  # fmt: skip
        if name not in present:
            raise UserError(f"{folder} lacks {name!r}, which its index names; copy the model again")
    return sorted(folder / name for name in set(places.values()))


def refuse_damaged(path: Path) -> None:
    """Refuse weights that end before their header says: of a copy that was broken off, or that Git LFS stands for."""
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(len(_LFS))
    if first == _LFS:
        raise UserError(f"{path} isn't the weights but Git LFS's note of where they are; run 'git lfs pull' there")
    try:
        ends = (tensor["data_offsets"][1] for tensor in stored_tensors(path).values())
        whole = 8 + int.from_bytes(first[:8], "little") + max(ends, default=0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path} breaks off in its header, or is no safetensors file; copy the model again") from None
    if size < whole:
        raise UserError(f"{path} is cut short, {size:,} of {whole:,} bytes; copy the model again")
    try:
        with safe_open(path, "np"):
            pass
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} has a header that can't be true ({in_a_line(error)}); copy the model again"
        ) from error
