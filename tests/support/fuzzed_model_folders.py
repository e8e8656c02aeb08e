"""A fuzzer of model folders: config.json, index, tokenizer, seal and the headers of weights, changed at random, but
the same way for the same number. What comes of each is counted; a folder may open or be refused in one line, and
nothing else.

    python fuzzed_model_folders.py WORK FIRST COUNT     make and open COUNT folders, and print the counts as JSON
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 8, 500, 10**5, 10**9, 2**31, 2**32, 2**63, 10**30, 0.5, -0.5, 1e300,
    1e-300, float("nan"), float("inf"), "", "0", "8", "bert", "roberta", "gelu", "x" * 300, "\0", "\ud800",
    "\u202e\n", "../x",
    [], [0], [None], ["a", "b", "c"], {}, {"0": "a"}, {"type": "Replace"}, [[[[]]]],
)  # fmt: skip
KEYS = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "id2label", "dim",
    "num_labels", "model_type", "architectures", "pad_token_id", "bertscope", "head_dim", "embedding_size", "to_dict",
    "problem_type", "rope_parameters", "layer_types", "quantization_config", "classifier_dropout", "is_decoder",
    "type", "dtype", "vocab", "special_tokens", "content", "pattern", "data_offsets", "shape", "weight_map", "name",
    "tokenizer_class", "of", "files", "growing", "seal", "config.json",
    "model_max_length", "model_input_names", "added_tokens_decoder", "chat_template", "padding_side", "__metadata__",
)  # fmt: skip
BYTES = (
    b"",
    b"\0",
    b"{",
    b"}",
    b"[",
    b'"',
    b",",
    b":",
    b"-",
    b"9",
    b"9" * 400,
    b"1e999",
    b"\xff",
    b"null",
    b"[" * 2000,
)
SEAL = "seal.json"
SECONDS = 30
"""The longest that one folder may take."""
GIGABYTES = 2


def changed(folder: Path, number: int) -> str:
    """Change a copy of a model folder as this number says; gives the kind of file that was changed."""
    draw = random.Random(number)
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors"))
    path = draw.choice(files)
    for _ in range(draw.choice((1, 1, 2, 4))):
        if path.suffix == ".safetensors":
            path.write_bytes(_changed_weights(draw, path.read_bytes()))
        elif draw.random() < 0.75:
            path.write_bytes(_changed_json(draw, path.read_bytes()))
        else:
            path.write_bytes(_changed_bytes(draw, path.read_bytes()))
    if path.name != SEAL and draw.random() < 0.9:  # or hardly anything would be looked at but that the seal is broken
        (folder / SEAL).unlink()
    return "weights" if path.suffix == ".safetensors" else path.name


def _changed_weights(draw: random.Random, raw: bytes) -> bytes:
    length = int.from_bytes(raw[:8], "little")
    header, numbers = raw[8 : 8 + length], raw[8 + length :]
    how = draw.random()
    if how < 0.6:
        header = _changed_json(draw, header)
    elif how < 0.8:
        header = _changed_bytes(draw, header)
    elif how < 0.9:
        return raw[: draw.randrange(len(raw) + 1)]
    else:
        return (
            struct.pack(
                "<Q", draw.choice((0, 1, (length - 1) % 2**64, (length + 1) % 2**64, 10**8, 2**40, 2**64 - 1))
            )
            + header
            + numbers
        )
    return struct.pack("<Q", len(header)) + header + numbers


def _changed_bytes(draw: random.Random, raw: bytes) -> bytes:
    start = draw.randrange(len(raw) + 1)
    end = min(len(raw), start + draw.choice((0, 1, 4, 40, 10_000)))
    other = draw.choice((*BYTES, raw[start:end] * 2, bytes(draw.randrange(256) for _ in range(3))))
    return raw[:start] + other + raw[end:]


def _changed_json(draw: random.Random, raw: bytes) -> bytes:
    """Another value, key, place or depth for one node; where there is no JSON any more, other bytes."""
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return _changed_bytes(draw, raw)
    spots = list(_spots(said))
    if not spots:
        return json.dumps(draw.choice(ODD)).encode()
    parent, key = draw.choice(spots)
    other_parent, other_key = draw.choice(spots)
    alike = [other[at] for other, at in spots if type(other[at]) is type(parent[key])]
    how = draw.randrange(10)
    if how > 6:  # most readers look at the type first: what comes behind is reached by values of the same one
        parent[key] = not parent[key] if isinstance(parent[key], bool) else draw.choice(alike)
    elif how == 0:
        del parent[key]
    elif how == 1:
        parent[key] = [parent[key]] if draw.random() < 0.5 else {"a": parent[key]}
    elif how == 2:
        parent[key], other_parent[other_key] = other_parent[other_key], json.loads(json.dumps(parent[key]))
    elif how == 3 and isinstance(parent, dict):
        parent[draw.choice(KEYS)] = draw.choice((*ODD, parent[key]))
    elif how == 4 and isinstance(parent[key], int | float):
        parent[key] = draw.choice((-1, 1, 2, 10, 1000)) * parent[key] + draw.choice((-1, 0, 1))
    else:
        parent[key] = draw.choice(ODD)
    try:
        return json.dumps(said).encode()
    except (ValueError, RecursionError):  # a node inside itself
        return b"[" * draw.choice((10, 500, 100_000))


def _spots(value: Any) -> Any:
    """Each place of a JSON value that can be changed: what holds it, and its key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _spots(value[key])


def outcome(folder: Path) -> str:
    """Plan with the folder, open it and let it answer: `opened`, `refused`, or what went wrong."""
    from bertscope.core.errors import UserError
    from bertscope.models.load import load
    from bertscope.models.source import model_root

    refused = False
    try:
        model_root(str(folder))
    except UserError as error:
        refused, said = True, str(error)
    try:
        _answer(load(folder, device="cpu"))
    except UserError as error:
        said = str(error)
    else:
        return "bug: planning refuses what opens" if refused else "opened"
    return "refused" if said.isprintable() and len(said) < 900 else f"bug: no line: {said!r}"


def _answer(encoder: Any) -> None:
    """Everything that questions are made of, once: logits, maps, states, its record."""
    from bertscope.core.examples import Examples
    from bertscope.models.observe import observe

    class Nothing:
        needs = frozenset({"maps", "contexts", "mlps", "norms", "hidden_states"})

        def update(self, batch: Any, seen: Any) -> None:
            assert len(seen[0].maps) == encoder.n_layers

    said = ("a good text .", "bad bad \u2603", "the text was " * 30)
    words = tuple(tuple(text.split()) for text in said) if encoder.task_head == "parser" else None
    texts = Examples(ids=("1", "2", "3"), text=said, words=words)
    observe([encoder], texts, [Nothing()])
    assert encoder.record.to_json()
    assert len(encoder.predict(texts).logits) == 3


def bases(work: Path) -> list[Path]:
    """What is changed: of several families, in one file and in several, cut by us, with a parser of ours; all are
    sealed."""
    from bertscope.core import seal
    from bertscope.models.load import load
    from bertscope.models.parser import with_parser
    from small_model_folders import FAMILIES, small_folder, small_sharded_folder

    plain = [small_folder(work / name, name) for name in FAMILIES]
    cut = load(plain[0], device="cpu").cut(["head:1.2", "neuron:2.3", "mlp:1"]).save(work / "cut")
    parser = with_parser(load(plain[0], device="cpu"), ("nsubj", "obj")).save(work / "parser")
    several = small_sharded_folder(work / "several")
    for folder in (*plain, several):
        seal.write(folder, "model")
    return [*plain, several, cut, parser]


def fuzz(work: Path, made: list[Path], first: int, count: int) -> dict[str, Any]:
    """Change and open that many folders; what came of them, by file and outcome, the slowest, and all that went
    wrong."""
    found, wrong, slowest = Counter[str](), [], 0.0
    signal.signal(signal.SIGALRM, _too_slow)
    for number in range(first, first + count):
        folder = work / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made[number % len(made)], folder)
        kind = changed(folder, number)
        (work / "at").write_text(str(number))  # where a process that dies was
        began = time.monotonic()
        signal.alarm(SECONDS)
        try:
            came = outcome(folder)
        except BaseException as error:
            came = "bug"
            wrong.append(f"{number} ({kind}): " + "".join(traceback.format_exception(error)[-3:]))
        finally:
            signal.alarm(0)
        if came.startswith("bug: "):
            wrong.append(f"{number} ({kind}): {came}")
        slowest = max(slowest, time.monotonic() - began)
        found[f"{kind}: {came.split(':')[0]}"] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"found": found, "wrong": wrong, "slowest": slowest, "gigabytes": peak}


def _too_slow(*_: Any) -> None:
    raise TimeoutError(f"not done after {SECONDS} seconds")


def main(work: Path, first: int, count: int) -> None:
    """In a process of its own: what asks for more memory than it may have fails there."""
    made = bases(work)
    limit = GIGABYTES * 2**30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(json.dumps(fuzz(work, made, first, count)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
