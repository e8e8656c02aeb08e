"""A small tokenizer of every kind, each trained on a few lines of hard words."""

from __future__ import annotations

import json

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, RobertaTokenizer

HARD = (
    ("I", "do", "n't", "know", "Anna", "'s", "mother-in-law", "."),
    ("don't", "pay", "$", "1,000.5", "(", "or", "3.14e-10", ")", "!"),
    ("naïve", "straße", "你好世界", "Ελλάδα", "cafe\u0301"),
    ("\U0001f44d\U0001f3fd", "and", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "☀\ufe0f", "yes"),
    ("rock’n’roll", "—", "“", "e.g.", "U.S.A", "and/or", "...", "#tag", "@user", "C++", "o'clock", "-", "'"),
    ("½", "１２", "ﬁne", "x²", "٣٫٥", "\u202bمرحبا", "नमस्ते", "\U0001f600", "ZWJ\u200dword", "so\u00adft"),
    ("10 000", "people", "in", "New York"),
    ("a", "donaudampfschifffahrt" * 8, "b"),
    ("one",),
)
CORPUS = [" ".join(words) for words in HARD[:3]] * 10 + ["I know that the naïve mother pays 1,000 dollars ."] * 10
LLAMA = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"


def byte_level(pre_tokenizer) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    ends = (("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")))
    tokenizer.post_processor = processors.RobertaProcessing(*ends, add_prefix_space=False)
    return tokenizer


def fast(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
    )  # fmt: skip


def roberta(**options):
    model = json.loads(byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)).to_str())["model"]
    return RobertaTokenizer(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]], **options)


def modernbert():
    return fast(byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)))


def eurobert():
    """Splits by a pattern first and maps bytes later, as Llama's tokenizer does."""
    split = pre_tokenizers.Split(Regex(LLAMA), "isolated")
    return fast(
        byte_level(
            pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        )
    )


def cased():
    """BERT's tokenizer for models that tell capitals and accents apart."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
    return fast(tokenizer)


def albert():
    """ALBERT's has no capitals and no accents."""
    return sentencepiece(normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase())


def sentencepiece(*further):
    """XLM-R, CamemBERT, DeBERTa: pieces that begin with ▁, over spaces only."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), *further, normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return fast(tokenizer)


KINDS = ("bert", "cased", "roberta", "modernbert", "eurobert", "sentencepiece", "albert")
