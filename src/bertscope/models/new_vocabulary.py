"""A WordPiece vocabulary that is learnt from a text, and the tokenizer that reads with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertTokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_RARE = 2  # a piece that is met less often isn't learnt
_CONTINUES = "##"
_MOST_OF_TEXT = 0.9999  # characters that make so much of it are pieces: each of the others would be two more


def learn_vocabulary(lines: Callable[[], Iterable[str]], size: int, *, cased: bool, longest: int) -> Any:
    """A tokenizer as BERT's, with at most `size` pieces: fewer where the text gives no more. The text's `lines` are
    gone through twice; `longest` is how many tokens a text may have."""
    learning = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learning.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    learning.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    alphabet = _frequent_characters(lines(), learning.normalizer)
    learning.train_from_iterator(
        lines(),
        trainers.WordPieceTrainer(
            vocab_size=size, min_frequency=_RARE, special_tokens=list(SPECIAL), show_progress=False,
            continuing_subword_prefix=_CONTINUES, limit_alphabet=min(alphabet, size // 4),
        ),
    )  # fmt: skip
    # The library numbers pieces in another order in each run; sorted, the same pieces have the same numbers.
    learnt = [*SPECIAL, *sorted(set(learning.get_vocab()) - set(SPECIAL))]
    vocabulary = {piece: number for number, piece in enumerate(learnt)}
    return BertTokenizer(vocab=vocabulary, do_lower_case=not cased, model_max_length=longest)


def _frequent_characters(lines: Iterable[str], normalizer: Any) -> int:
    """How many characters, the most frequent ones, make nearly all of a text as the normalizer leaves it."""
    met = Counter[str]()
    for line in lines:
        met.update(line)
    left = Counter[str]()
    for character, times in met.items():
        left.update(dict.fromkeys(normalizer.normalize_str(character).strip(), times))
    so_far = accumulate(times for _, times in left.most_common())
    return 1 + sum(times < _MOST_OF_TEXT * left.total() for times in so_far)


def continues_a_word(tokenizer: Any) -> np.ndarray:
    """[piece]: whether it goes on with the word of the piece before it."""
    return np.array([piece.startswith(_CONTINUES) for piece in _pieces(tokenizer)])


def parts_of_words(tokenizer: Any) -> list[str]:
    """[piece]: what it is of a word; joined, a word's are the word."""
    return [piece.removeprefix(_CONTINUES) for piece in _pieces(tokenizer)]


def ends_a_sentence(tokenizer: Any) -> np.ndarray:
    """[piece]: whether sentences end with it, in most scripts."""
    return np.isin(_pieces(tokenizer), list(".!?。！？।؟"))


def closes_behind_a_sentence(tokenizer: Any) -> np.ndarray:
    """[piece]: whether it may follow the end of a sentence, and belongs to it."""
    return np.isin(_pieces(tokenizer), list("\"'”’»)]}"))


def _pieces(tokenizer: Any) -> list[str]:
    return tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
