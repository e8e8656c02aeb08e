"""What real and hostile tokenizers are, and what is said of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from folder_changes import TOO_DEEP, Change, holds, truncated, without
from odd_configs import OTHERWISE, SAME
from small_model_folders import edit

_NO_TOKENIZER = "has no usable tokenizer|can't read a text"
_SPLIT = {"behavior": "Isolated", "invert": False}


def _tokenizer(**changes: Any) -> Change:
    return lambda folder: edit(folder / "tokenizer.json", **changes)


def _vocabulary(change: Callable[[dict[str, int]], object]) -> Change:
    def rewrite(folder: Path) -> None:
        path = folder / "tokenizer.json"
        said = json.loads(path.read_text())
        change(said["model"]["vocab"])
        path.write_text(json.dumps(said))

    return rewrite


def _added(**token: Any) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": 14, "content": "<x>", "special": True} | flags | token


def _special(at: int, *, twice: bool = False) -> dict[str, Any]:
    template = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template += template[1:] if twice else []
    pair = [*template, {"Sequence": {"id": "B", "type_id": 1}}]
    known = {"[CLS]": {"id": "[CLS]", "ids": [at], "tokens": ["[CLS]"]}}
    return {"type": "TemplateProcessing", "single": template, "pair": pair, "special_tokens": known}


def _growing(times: int) -> dict[str, Any]:
    one = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    return {"type": "Sequence", "normalizers": [one] * times}


def _tokenizer_config(**changes: Any) -> Change:
    return lambda folder: edit(folder / "tokenizer_config.json", **changes)


TOKENIZERS: dict[str, tuple[Change, str]] = {
    "no tokenizer": (without("tokenizer.json", "tokenizer_config.json"), "has no tokenizer"),
    "tokenizer.json empty": (holds("tokenizer.json", ""), _NO_TOKENIZER),
    "tokenizer.json null": (holds("tokenizer.json", "null"), _NO_TOKENIZER),
    "tokenizer.json a list": (holds("tokenizer.json", "[]"), _NO_TOKENIZER),
    "tokenizer.json {}": (holds("tokenizer.json", "{}"), _NO_TOKENIZER),
    "tokenizer.json cut": (truncated("tokenizer.json", 0.6), _NO_TOKENIZER),
    "tokenizer.json too deep": (holds("tokenizer.json", TOO_DEEP), _NO_TOKENIZER),
    "tokenizer.json of bytes": (holds("tokenizer.json", bytes(range(256))), _NO_TOKENIZER),
    "a tokenizer of another version": (_tokenizer(version="9.0"), _NO_TOKENIZER),
    "a tokenizer without a version": (_tokenizer(version=None), SAME + "|" + _NO_TOKENIZER),
    "a model that nobody knows": (_tokenizer(model={"type": "Magic", "vocab": {}}), _NO_TOKENIZER),
    "no vocabulary": (_vocabulary(lambda vocab: vocab.clear()), _NO_TOKENIZER),
    "a normalizer that nobody knows": (_tokenizer(normalizer={"type": "Magic"}), _NO_TOKENIZER),
    "a pre-tokenizer that nobody knows": (_tokenizer(pre_tokenizer={"type": "Magic"}), _NO_TOKENIZER),
    "no normalizer": (_tokenizer(normalizer=None), SAME),
    "no pre-tokenizer": (_tokenizer(pre_tokenizer=None), OTHERWISE),
    "no post-processor": (_tokenizer(post_processor=None), OTHERWISE),
    "no decoder": (_tokenizer(decoder=None), SAME),
    "a growing normalizer": (_tokenizer(normalizer=_growing(60)), "times as long"),
    "a long replacement": (
        _tokenizer(normalizer={"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 10**6}), "as long"),
    "a bomb of a pattern": (
        _tokenizer(pre_tokenizer={"type": "Split", "pattern": {"Regex": r"(.*)*x"}, **_SPLIT}), "can't read a text"),
    "a pattern that isn't one": (
        _tokenizer(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(((("}, **_SPLIT}), _NO_TOKENIZER),
    "padding to a billion": (_tokenizer(padding={
        "strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "[PAD]"}), SAME),
    "truncation to 0": (_tokenizer(truncation={
        "max_length": 0, "strategy": "LongestFirst", "stride": 9, "direction": "Right"}), SAME),
    "an id beyond the vectors": (_vocabulary(lambda vocab: vocab.update(good=25)), "has a token 25, the model"),
    "an id of 4 billion": (
        _vocabulary(lambda vocab: vocab.update(good=2**32 - 1)), "has a token 4,294,967,295|can't read a text"),
    "an id of 10^30": (_vocabulary(lambda vocab: vocab.update(good=10**30)), _NO_TOKENIZER),
    "an id under 0": (_vocabulary(lambda vocab: vocab.update(good=-1)), _NO_TOKENIZER),
    "an id in words": (_vocabulary(lambda vocab: vocab.update(good="7")), _NO_TOKENIZER),
    "an id twice": (_vocabulary(lambda vocab: vocab.update(good=8)), OTHERWISE),
    "more tokens than vectors": (
        _vocabulary(lambda vocab: vocab.update({f"w{at}": at for at in range(14, 30)})), "knows 30 tokens"),
    "no [UNK]": (_vocabulary(lambda vocab: vocab.pop("[UNK]")), _NO_TOKENIZER),
    "no [CLS]": (_vocabulary(lambda vocab: vocab.pop("[CLS]")), SAME),
    "a token that was added": (_tokenizer(added_tokens=[_added()]), SAME),
    "a token that was added far off": (_tokenizer(added_tokens=[_added(id=500)]), SAME),
    "a token that was added without a name": (_tokenizer(added_tokens=[_added(content="")]), SAME),
    "a special token beyond the vectors": (_tokenizer(post_processor=_special(900)), "has a token 900, the model"),
    "a text twice": (_tokenizer(post_processor=_special(2, twice=True)), "tokens where at most"),
    "tokenizer_config.json empty": (holds("tokenizer_config.json", ""), _NO_TOKENIZER),
    "tokenizer_config.json a list": (holds("tokenizer_config.json", "[]"), _NO_TOKENIZER),
    "tokenizer_config.json too deep": (holds("tokenizer_config.json", TOO_DEEP), _NO_TOKENIZER),
    "tokenizer_config.json gone": (without("tokenizer_config.json"), SAME),
    "remote code of a tokenizer": (
        _tokenizer_config(auto_map={"AutoTokenizer": ["evil.Tokenizer", None]}, tokenizer_class="Evil"), SAME),
    "a class that nobody knows": (_tokenizer_config(tokenizer_class="MagicTokenizer"), SAME),
    "a class that is a number": (_tokenizer_config(tokenizer_class=5), _NO_TOKENIZER),
    "another class": (_tokenizer_config(tokenizer_class="T5Tokenizer"), _NO_TOKENIZER),
    "a slow class": (_tokenizer_config(tokenizer_class="BertJapaneseTokenizer"), _NO_TOKENIZER),
    "a length of 0": (_tokenizer_config(model_max_length=0), "reads at most 0 tokens"),
    "a length under 0": (_tokenizer_config(model_max_length=-3), "reads at most -3 tokens"),
    "a length of 2": (_tokenizer_config(model_max_length=2), "reads at most 2 tokens, 2 of them"),
    "a length in words": (_tokenizer_config(model_max_length="512"), "reads at most '512' tokens"),
    "a length of null": (_tokenizer_config(model_max_length=None), SAME),
    "a length of 1e30": (_tokenizer_config(model_max_length=1e30), SAME),
    "a length of 12.0": (_tokenizer_config(model_max_length=12.0), SAME),
    "a length of NaN": (_tokenizer_config(model_max_length=float("nan")), "reads at most nan tokens"),
    "a length of infinity": (_tokenizer_config(model_max_length=float("inf")), SAME),
    "padding on the left": (_tokenizer_config(padding_side="left"), SAME),
    "padding nowhere": (_tokenizer_config(padding_side="up"), SAME + "|" + _NO_TOKENIZER),
    "other inputs": (_tokenizer_config(model_input_names=["pixel_values"]), "gives no input_ids"),
    "inputs that are none": (_tokenizer_config(model_input_names=5), "gives no input_ids"),
    "no padding token": (_tokenizer_config(pad_token=None), SAME),
    "a padding token that isn't there": (_tokenizer_config(pad_token="<nothing>"), SAME),
    "a padding token that is a number": (_tokenizer_config(pad_token=0), _NO_TOKENIZER),
    "special tokens as a list": (_tokenizer_config(extra_special_tokens=["a", 5]), _NO_TOKENIZER),
    "a decoder of tokens": (_tokenizer_config(added_tokens_decoder={"x": 3}), _NO_TOKENIZER),
    "special_tokens_map.json odd": (holds("special_tokens_map.json", '{"pad_token": 5}'), _NO_TOKENIZER),
    "added_tokens.json far off": (holds("added_tokens.json", '{"<x>": 10000000}'), SAME),
}  # fmt: skip
