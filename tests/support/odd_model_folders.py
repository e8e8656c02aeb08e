"""What else real and hostile model folders hold, and what is said of each; config.json and tokenizers have lists of
their own."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from folder_changes import TOO_DEEP, Change, holds, recoded, replaced, truncated, without, write
from odd_configs import CONFIGS, SAME
from odd_tokenizers import TOKENIZERS
from small_model_folders import edit


def _config(changes: dict[str, Any]) -> Change:
    return lambda folder: edit(folder / "config.json", **changes)


def _header(change: Callable[[dict[str, Any]], object], name: str = "model.safetensors") -> Change:
    """The same numbers under another header."""

    def rewrite(folder: Path) -> None:
        raw = (folder / name).read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        header = json.loads(raw[8 : 8 + length])
        changed = change(header)
        text = json.dumps(header if changed is None else changed).encode()
        write(folder / name, struct.pack("<Q", len(text)) + text + raw[8 + length :])

    return rewrite


def _length(length: int) -> Change:
    return lambda folder: write(
        folder / "model.safetensors", struct.pack("<Q", length) + (folder / "model.safetensors").read_bytes()[8:]
    )


def _first(header: dict[str, Any]) -> dict[str, Any]:
    return next(tensor for name, tensor in header.items() if name != "__metadata__")


def _drop_metadata(header: dict[str, Any]) -> None:
    del header["__metadata__"]


def _folders(*names: str) -> Change:
    """Somebody's folders beside the files, with something in them."""

    def change(folder: Path) -> None:
        for name in names:
            (folder / name).mkdir()
            (folder / name / "tokenizer.json").write_text("{")

    return change


_NO_JSON = "config.json can't be read"

FOLDERS: dict[str, tuple[Change, str]] = {
    f"config.json: {name}": (_config(changes), said) for name, (changes, said) in CONFIGS.items()
} | {
    "config.json empty": (holds("config.json", ""), _NO_JSON),
    "config.json cut": (truncated("config.json", 0.5), _NO_JSON),
    "config.json null": (holds("config.json", "null"), "names no model_type"),
    "config.json a list": (holds("config.json", "[]"), "names no model_type"),
    "config.json a number": (holds("config.json", "7"), "names no model_type"),
    "config.json {}": (holds("config.json", "{}"), "names no model_type"),
    "config.json too deep": (holds("config.json", TOO_DEEP), _NO_JSON),
    "config.json of a long number": (holds("config.json", '{"model_type": ' + "9" * 5000 + "}"), _NO_JSON),
    "config.json of bytes": (holds("config.json", bytes(range(256))), _NO_JSON),
    "config.json with a mark": (recoded("utf-8-sig"), _NO_JSON),
    "config.json in Latin-1": (recoded("latin-1"), _NO_JSON),
    "config.json in UTF-16": (recoded("utf-16"), _NO_JSON),
    "config.json of NUL": (holds("config.json", bytes(200)), _NO_JSON),
    "config.json too long": (holds("config.json", b" " * 10_000_001), "at most 10,000,000 are read"),
    "config.json a folder": (replaced("config.json", Path.mkdir), "not a file"),
    "config.json a pipe": (replaced("config.json", os.mkfifo), "not a file"),
    "config.json a device": (replaced("config.json", lambda path: path.symlink_to("/dev/zero")), "not a file"),
    "config.json a loop": (replaced("config.json", lambda path: path.symlink_to(path)), _NO_JSON),
    "config.json leads nowhere": (replaced("config.json", lambda path: path.symlink_to("/no/such")), _NO_JSON),
    "config.json gone": (without("config.json"), "there is no config.json in it"),
    "tokenizer.json a pipe": (replaced("tokenizer.json", os.mkfifo), "not a file"),
    "tokenizer_config.json a pipe": (replaced("tokenizer_config.json", os.mkfifo), "not a file"),
    "generation_config.json a pipe": (replaced("generation_config.json", os.mkfifo), "not a file"),
    "chat_template.jinja a pipe": (replaced("chat_template.jinja", os.mkfifo), "not a file"),
    "added_tokens.json a pipe": (replaced("added_tokens.json", os.mkfifo), "not a file"),
    "README.md a pipe": (replaced("README.md", os.mkfifo), "not a file"),
    "weights a pipe": (replaced("model.safetensors", os.mkfifo), "not a file"),
    "weights a folder": (replaced("model.safetensors", Path.mkdir), "not a file"),
    "weights lead nowhere": (replaced("model.safetensors", lambda at: at.symlink_to("/no/such")), "can't be read"),
    "weights gone": (without("model.safetensors"), "no weights"),
    "weights empty": (holds("model.safetensors", b""), "breaks off in its header"),
    "weights cut": (truncated("model.safetensors", 0.8), "is cut short"),
    "weights cut in the header": (truncated("model.safetensors", 0.1), "breaks off in its header"),
    "weights of bytes": (holds("model.safetensors", bytes(range(256)) * 9), "breaks off in its header"),
    "weights a page": (holds("model.safetensors", "<!DOCTYPE html>\n" * 20), "breaks off in its header"),
    "weights under another name": (
        lambda folder: _rename(folder, "bert.safetensors"), "under a name that isn't read"),
    "weights a pickle": (lambda folder: _rename(folder, "pytorch_model.bin"), "is a pickle"),
    "weights of many machines": (
        holds("shard-00000-model-00001-of-00002.safetensors", b""), "a part of a training on many machines"),
    "a header of 2^63": (_length(2**63), "breaks off in its header"),
    "a header of 0": (_length(0), "breaks off in its header"),
    "a header of 7": (_length(7), "breaks off in its header"),
    "a header too deep": (
        holds("model.safetensors", struct.pack("<Q", len(TOO_DEEP)) + TOO_DEEP.encode()), "breaks off in its header"),
    "a header as a list": (_header(lambda _: [1]), "breaks off in its header"),
    "a header without tensors": (_header(lambda _: {}), "header that can't be true|lacks"),
    "a header with null": (_header(lambda header: header.update(x=None)), "breaks off in its header"),
    "offsets under 0": (_header(lambda header: _first(header).update(data_offsets=[-8, 8])), "can't be true"),
    "offsets the wrong way": (_header(lambda header: _first(header).update(data_offsets=[64, 0])), "can't be true"),
    "offsets in words": (_header(lambda header: _first(header).update(data_offsets=["0", "8"])), "breaks off"),
    "offsets that overlap": (_header(lambda header: _first(header).update(data_offsets=[0, 64])), "can't be true"),
    "offsets beyond the end": (
        _header(lambda header: _first(header).update(data_offsets=[0, 10**15])), "is cut short"),
    "an unknown dtype": (_header(lambda header: _first(header).update(dtype="F99")), "can't be true"),
    "another dtype": (_header(lambda header: _first(header).update(dtype="F16")), "can't be true"),
    "a shape of 10^30": (_header(lambda header: _first(header).update(shape=[10**30])), "can't be true"),
    "a shape under 0": (_header(lambda header: _first(header).update(shape=[-1])), "can't be true"),
    "another shape": (
        _header(lambda header: _first(header).update(shape=[1, *_first(header)["shape"]])),
        "1 of the weights in .* have another shape"),
    "a tensor of another name": (_header(lambda header: header.update(x=header.pop("classifier.weight"))), "lacks 1"),
    "no metadata": (_header(_drop_metadata), SAME),
    "metadata of another library": (_header(lambda header: header.update(__metadata__={"format": "tf"})), SAME),
    "metadata as a list": (_header(lambda header: header.update(__metadata__=[1])), "can't be true"),
    "metadata with more": (_header(lambda header: header["__metadata__"].update(origin="x" * 999)), SAME),
    "modules.json empty": (holds("modules.json", ""), "modules.json can't be read"),
    "modules.json too deep": (holds("modules.json", TOO_DEEP), "modules.json can't be read"),
    "modules.json of numbers": (holds("modules.json", "[1]"), "isn't a list of modules"),
    "modules.json of nothing": (holds("modules.json", "[]"), "isn't a list of modules"),
    "modules.json a pipe": (replaced("modules.json", os.mkfifo), "not a file"),
    "modules.json a folder": (replaced("modules.json", Path.mkdir), "not a file"),
    "modules.json leads nowhere": (replaced("modules.json", lambda at: at.symlink_to("/no")), "can't be read"),
    "modules.json leads out": (holds("modules.json", '[{"type": "Transformer", "path": "/etc"}]'), "inside this one"),
    "modules.json without its folder": (
        holds("modules.json", '[{"type": "Transformer", "path": "0_T"}]'), "0_T is not a model folder"
    ),
    "modules.json of the encoder alone": (holds("modules.json", '[{"type": "Transformer", "path": ""}]'), SAME),
    "a sentence's settings a pipe": (replaced("sentence_bert_config.json", os.mkfifo), "not a file"),
    "a sentence's settings alone": (holds("sentence_bert_config.json", '{"max_seq_length": 2}'), SAME),
    "an adapter's config a pipe": (replaced("adapter_config.json", os.mkfifo), "has an adapter beside its weights"),
    "an adapter's config": (holds("adapter_config.json", "{}"), "has an adapter beside its weights"),
    "an odd generation config": (holds("generation_config.json", "{"), SAME),
    "notes beside it": (holds("results.json", "{"), SAME),
    "a folder tokenizer": (lambda folder: (folder / "tokenizer").mkdir(), SAME),
    "folders that are called like files": (_folders("old.bin", "x.safetensors", "vocab", "a.pt"), SAME),
    "tokenizer.json a folder": (replaced("tokenizer.json", Path.mkdir), "tokenizer.json is a folder, not a file"),
    "vocab.txt a folder": (replaced("vocab.txt", Path.mkdir), "vocab.txt is a folder, not a file"),
    "an index beside it": (holds("model.safetensors.index.json", "{"), SAME),
} | TOKENIZERS  # fmt: skip


def _rename(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder / name)


_INDEX = "model.safetensors.index.json"


def _all_in(place: str) -> Change:
    def change(folder: Path) -> None:
        said = json.loads((folder / _INDEX).read_text())
        edit(folder / _INDEX, weight_map=dict.fromkeys(said["weight_map"], place))

    return change


def _first_shard(folder: Path) -> str:
    return min(path.name for path in folder.glob("*.safetensors"))


# Of a folder whose weights lie in several files.
SHARDED: dict[str, tuple[Change, str]] = {
    "as it is": (lambda folder: None, SAME),
    "one lacks": (lambda folder: (folder / _first_shard(folder)).unlink(), "lacks 'model-00001-of-.*"),
    "one is cut": (lambda folder: truncated(_first_shard(folder), 0.9)(folder), "is cut short"),
    "one above the folder": (_all_in("../x.safetensors"), "files of the folder alone"),
    "one from the root": (_all_in("/etc/passwd"), "files of the folder alone"),
    "one in a folder": (_all_in("sub/x.safetensors"), "files of the folder alone"),
    "one is a pickle": (_all_in("x.bin"), "files of the folder alone"),
    "one has no name": (_all_in(""), "files of the folder alone"),
    "one is called ..": (_all_in(".."), "files of the folder alone"),
    "one has a long name": (_all_in("x" * 300 + ".safetensors"), "lacks 'x+.safetensors', which its index"),
    "one has a NUL": (_all_in("x\0.safetensors"), "files of the folder alone|lacks"),
    "one holds all": (lambda folder: _all_in(_first_shard(folder))(folder), "describes a model of 1,547 weights"),
    "one is a folder": (
        lambda folder: replaced(_first_shard(folder), Path.mkdir)(folder), "lacks 'model-00001-of-.*"),
    "the index is empty": (holds(_INDEX, ""), "can't be read"),
    "the index is a list": (holds(_INDEX, "[]"), "doesn't say in which file"),
    "the index is null": (holds(_INDEX, "null"), "doesn't say in which file"),
    "the index is too deep": (holds(_INDEX, TOO_DEEP), "can't be read"),
    "the index is a pipe": (replaced(_INDEX, os.mkfifo), "not a file"),
    "the index has no map": (holds(_INDEX, "{}"), "doesn't say in which file"),
    "the map is empty": (holds(_INDEX, '{"weight_map": {}}'), "doesn't say in which file"),
    "the map is a list": (holds(_INDEX, '{"weight_map": ["a"]}'), "doesn't say in which file"),
    "the map has numbers": (holds(_INDEX, '{"weight_map": {"a": 1}}'), "doesn't say in which file"),
    "the index has odd metadata": (lambda folder: edit(folder / _INDEX, metadata=[1]), SAME + "|can't be read"),
    "the index has no metadata": (lambda folder: edit(folder / _INDEX, metadata=None), SAME + "|can't be read"),
    "the index is gone": (without(_INDEX), "under a name that isn't read"),
}  # fmt: skip
