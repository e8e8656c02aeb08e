"""Opening a tokenizer, from a folder or as it was given, and what is refused of one."""

from __future__ import annotations

import copy
import inspect
import json
from pathlib import Path
from typing import Any

import transformers
from tokenizers.normalizers import Lowercase, Sequence
from transformers.tokenization_utils_base import VERY_LARGE_INTEGER

from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text
from bertscope.models.growing_texts import refuse_growing_texts
from bertscope.models.library_failures import library_failures
from bertscope.models.quiet import quiet_library
from bertscope.models.sentence_layout import SentenceFolder
from bertscope.models.source import locate, need_vocabulary

_TRIAL = "A text, with 7 words that \u2603 \U00013000 no vocabulary has."
_DIGESTS: dict[str, str] = {}
"""Of tokenizers, by that of what they are written as: models are asked again and again what they are, mostly with one
tokenizer, and to bring its vocabulary into one order takes ten times as long as to write it."""


def tokenizer_in(folder: Path, config: Any = None, sentence: SentenceFolder | None = None) -> Any:
    """The tokenizer of a folder. `config` is the library's of the model there, where it has one: it says which class
    opens the tokenizer. `sentence` may have its own length, and lower case."""
    need_vocabulary(folder)
    if (folder / "tokenizer.json").exists():
        refuse_growing_texts(folder / "tokenizer.json")
    with library_failures(f"{folder} has no usable tokenizer", "copy its tokenizer.json there"), quiet_library():
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, config=config, local_files_only=True, trust_remote_code=False
        )
    if not tokenizer.is_fast:
        raise UserError(f"the tokenizer in {folder} is not a fast one; save it with tokenizer.json and try again")
    longest = tokenizer.model_max_length
    if type(longest) not in (int, float) or not longest >= 1:
        raise UserError(f"the tokenizer in {folder} reads at most {longest!r} tokens; correct model_max_length "
                        "in its tokenizer_config.json")  # fmt: skip
    tokenizer.model_max_length = int(min(longest, VERY_LARGE_INTEGER))
    if sentence and sentence.longest:
        tokenizer.model_max_length = sentence.longest
    if sentence and sentence.lower:
        rest = tokenizer.backend_tokenizer.normalizer
        tokenizer.backend_tokenizer.normalizer = Sequence([Lowercase(), *([rest] if rest else [])])
    return tokenizer


def usable_tokenizer(tokenizer: Any) -> Any:
    """A tokenizer as it was given: itself, its folder, or a hub id."""
    if isinstance(tokenizer, str | Path):
        return tokenizer_in(locate(str(tokenizer), weights=False))
    if not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
        kind = type(tokenizer).__name__
        raise UserError(f"can't use {kind} as a tokenizer; give one of transformers, its folder, or a hub id")
    if not tokenizer.is_fast:
        raise UserError(
            f"{type(tokenizer).__name__} is not a fast tokenizer; give AutoTokenizer.from_pretrained(...)"
        )
    return tokenizer


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write it so that it opens as it is. How long texts were cut and padded in its last call isn't of it: whoever
    opens its file by the tokenizers library alone would cut and pad all texts so."""
    kept = copy.deepcopy(tokenizer)
    kept.backend_tokenizer.no_truncation()
    kept.backend_tokenizer.no_padding()
    # Some families' tokenizers open as another class than they were, which would forget the segments. And whoever
    # pads on the left, as Gemma's does, puts the padding where a classifier reads.
    names = list(kept.model_input_names)
    kept.init_kwargs = kept.init_kwargs | {"model_input_names": names, "padding_side": "right"}
    kept.save_pretrained(folder)


def tokenizer_digest(tokenizer: Any, longest: int) -> str:
    """What decides into which tokens a text is cut, and where a long one ends."""
    written = tokenizer.backend_tokenizer.to_str()
    seen = digest_text(f"{longest} {written}")
    if seen not in _DIGESTS:
        known = json.loads(written)
        del known["truncation"], known["padding"]  # settings of the last call
        _DIGESTS[seen] = digest_text(canonical_json([known, longest]))
    return _DIGESTS[seen]


def fitted(tokenizer: Any, model: Any, which: str) -> Any:
    """The tokenizer, giving only what this model takes: a DistilBERT has no segments, whatever its tokenizer says,
    and a RoBERTa often a single one, which it takes for granted. What tells padding from text is always given. One
    that gives what the model can't take is refused; `which` tells it from others."""
    taken = set(inspect.signature(model.forward).parameters)
    if getattr(model.config, "type_vocab_size", None) == 1:
        taken.discard("token_type_ids")
    given = tokenizer.model_input_names
    names = [name for name in given if name in taken] if isinstance(given, list | tuple) else []
    if "input_ids" not in names:
        raise UserError(f"{which} gives no input_ids; take 'model_input_names' out of its tokenizer_config.json")
    if "attention_mask" not in names:  # padded rows mean nothing without it
        names.append("attention_mask")
    if names != list(given):
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.model_input_names = names
    _refuse_foreign(tokenizer, model, which)
    return tokenizer


def _refuse_foreign(tokenizer: Any, model: Any, which: str) -> None:
    """Refuse a tokenizer that knows tokens for which the model has no vector: of its vocabulary, of those that were
    added, and of those that it puts around a text and between two."""
    rows = model.get_input_embeddings().num_embeddings
    belong = "they don't belong together; take the tokenizer that the model was trained with"
    if len(tokenizer) > rows:
        raise UserError(f"{which} knows {len(tokenizer):,} tokens, the model only {rows:,}: {belong}")
    with library_failures(f"{which} can't read a text", "copy its tokenizer.json again"), quiet_library():
        alone, pair = (tokenizer(*texts).input_ids for texts in ((_TRIAL,), (_TRIAL, _TRIAL)))
        short = tokenizer.num_special_tokens_to_add(pair=False) + 4
        kept = tokenizer(_TRIAL, truncation=True, max_length=short).input_ids
    if len(kept) > short:
        raise UserError(
            f"{which} makes {len(kept)} tokens where at most {short} are wanted; copy its tokenizer.json again"
        )
    largest = max(*tokenizer.get_vocab().values(), *alone, *pair, 0)
    if largest >= rows:
        raise UserError(f"{which} has a token {largest:,}, the model vectors up to {rows - 1:,}: {belong}")
