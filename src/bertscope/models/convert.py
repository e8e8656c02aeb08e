"""A model folder with pickled weights to one with safetensors: what `bertscope convert` does. Loads no torch here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.core.folders import check_folder, refuse_inside, whole_folder
from bertscope.core.seal import FILE as SEAL
from bertscope.models.config_check import need_plain_files, read_json
from bertscope.models.source import KIND, is_hub_id, locate, own_folder
from bertscope.models.unpickle import REFUSED
from bertscope.models.weight_files import pickled_files, refuse_damaged

_NAMES = {"pytorch_model": "model", "adapter_model": "adapter_model"}
"""What weights are called in pickles, and in safetensors."""
_INDEX = "pytorch_model.bin.index.json"
_COPIED = ("*.json", "*.txt", "*.model", "*.md", "LICENSE*", "NOTICE*")


def convert(name: str, out: Path | None, allow_pickle: bool) -> Path:
    """Write the model again, its weights as safetensors, sealed as what bertscope writes; the folder itself is left
    as it is. By default beside it, as NAME-safetensors."""
    here = own_folder(name)
    if here is None and is_hub_id(name) and name != "pocket" and not allow_pickle:
        raise UserError(
            f"pickles of {name} are downloaded only if you trust its maker; run again with --allow-pickle"
        )
    folder = locate(name, allow_pickle=allow_pickle)
    out = out or (here.with_name(f"{here.name}-safetensors") if here else Path(f"{name.split('/')[-1]}-safetensors"))
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir() and _is_module(path))]
    for place in places:
        need_plain_files(place, (*_COPIED, "*.bin"))
    pickles = {place: pickled_files(place) for place in places}
    first = next((path for found in pickles.values() for path in found), None)
    if first is None:
        has = next((path for place in places for path in place.glob("*.safetensors")), None)
        raise UserError(
            f"{folder} has no pickled weights (pytorch_model.bin); "
            + (f"it has {has.name}: give the folder as it is" if has else "name a folder that has them")
        )
    if not allow_pickle:
        raise UserError(
            f"{first} is a pickle, which can run any code when opened; if you trust where it came from, run again "
            "with --allow-pickle"
        )
    refuse_inside(out)
    check_folder(out, KIND)
    with whole_folder(out, KIND) as scratch:
        for place in places:
            inside = scratch / place.relative_to(folder)
            inside.mkdir(exist_ok=True)
            _copy(place, inside)
            for path in pickles[place]:
                _unpickle(path, inside / _renamed(path.name))
            _write_index(place, inside)
    return out


def _is_module(folder: Path) -> bool:
    """Whether it is of a sentence-transformers model: `0_Transformer`, `2_Dense`."""
    return folder.name[:1].isdigit() and "_" in folder.name and (folder / "config.json").is_file()


def _renamed(name: str) -> str:
    start = next(start for start in _NAMES if name.startswith(start))
    return f"{_NAMES[start]}{name.removeprefix(start).removesuffix('.bin')}.safetensors"


def _copy(place: Path, inside: Path) -> None:
    for path in _beside(place):
        shutil.copyfile(path, inside / path.name)


def _beside(place: Path) -> Iterator[Path]:
    """What a model has beside its weights; neither a training's settings nor an index of what was pickled."""
    found = {path for pattern in _COPIED for path in place.glob(pattern) if path.is_file()}
    return (path for path in sorted(found) if path.name not in (SEAL, _INDEX))


def _write_index(place: Path, inside: Path) -> None:
    """Of weights in several files, in which each is."""
    if not (place / "pytorch_model.bin").exists() and (place / _INDEX).exists():
        said = read_json(place / _INDEX)
        places = {name: _renamed(file) for name, file in said["weight_map"].items()}
        text = json.dumps({"metadata": {}, "weight_map": places}, indent=2)
        (inside / "model.safetensors.index.json").write_text(text, encoding="utf-8")


def _unpickle(source: Path, target: Path) -> None:
    """In a process of its own, which has no network and may write nothing but the target."""
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    words = [sys.executable, "-P", "-m", "bertscope.models.unpickle", os.path.realpath(source), str(target)]
    done = subprocess.run(words, env=os.environ | offline, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = done.stderr.strip().splitlines()
    if done.returncode == REFUSED:
        raise UserError(f"{source} isn't converted: {said[-1]}; take the model from its maker again, as safetensors")
    if done.returncode:
        why = said[-1] if said else f"its process ended with {done.returncode}"
        raise UserError(f"{source} can't be converted ({why}); is there memory and room on the disk for it twice?")
    refuse_damaged(target)
