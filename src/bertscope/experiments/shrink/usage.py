"""How a shrunk model is used, by what is on top of it: lines of code for its card, right when copied.

All are run in the model's own folder, and each ends in `answers`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.experiments.comparison import CUT, CUT_INT8, WHOLE_INT8
from bertscope.experiments.shrink.writing import BESIDE
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.surgery import is_plain

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class Usage:
    tag: str
    """What the hub calls such models; empty where it has no name for them."""
    plain: str
    """With transformers alone; empty where it can't."""
    onnx: str
    """From `session` and `tokenizer` to `answers`."""
    needs: str = "AutoTokenizer"
    """What of transformers that takes."""


_UNEVEN = "Its layers have different numbers of heads or neurons, which transformers alone can't open."
_OTHER_TOP = (
    "Its classifier isn't its family's own: transformers alone would draw weights for one anew, and its answers "
    "would mean nothing."
)
_NO_TOP = "transformers alone opens it without what is on top of the encoder."
_BERTSCOPE = """```python
import bertscope

encoder = bertscope.load(".")
```"""
_TRANSFORMERS = """It is a plain transformers model:

```python
{code}
```"""
_ONNX = """onnxruntime runs {files}, which take any number of texts of up to {max_length} \
tokens; the tokenizer cuts longer ones:

```python
import onnxruntime
from transformers import {needs}

tokenizer = AutoTokenizer.from_pretrained(".")
session = onnxruntime.InferenceSession("{file}")
{code}
```"""
ONNX_FILES = {WHOLE_INT8: f"{BESIDE}/model-int8.onnx", CUT: "model.onnx", CUT_INT8: "model-int8.onnx"}
"""What onnxruntime runs of each form."""
_RUN = "session.run(None, {one.name: inputs[one.name] for one in session.get_inputs()})"
_CUT = "truncation=True, max_length={max_length}"
_LABELS = 'labels = AutoConfig.from_pretrained(".").id2label\n'

_ONE_TEXT, _TWO_TEXTS = '["a text", "another"]', '[("a text", "its second text"), ("another", "and its second")]'
_GIVEN = "a label is given from a probability of {share} on"
_PIPELINE = """from transformers import pipeline

classify = pipeline("text-classification", ".")
answers = classify({piped}, {how}{cut}){given_from}"""
_CLASSIFIED = """texts = {texts}
inputs = tokenizer({given}, padding=True, {cut}, return_tensors="np")
logits = {run}[0]
{answers}"""

_TAGGED = """from transformers import pipeline

tag = pipeline("token-classification", ".", aggregation_strategy="simple")
answers = tag(["a text", "another"])"""
_TAGGED_ONNX = """texts = [["a", "text"], ["another"]]
inputs = tokenizer(texts, is_split_into_words=True, padding=True, {cut}, return_tensors="np")
logits = {run}[0]
{labels}answers = []
for row, words in enumerate(map(inputs.word_ids, range(len(texts)))):
    first = [at for at, word in enumerate(words) if word is not None and word != words[at - 1]]
    answers.append([labels[int(logits[row, at].argmax())] for at in first])"""

_ASKED = """question, text = "a question", "the text that it is about"
inputs = tokenizer(
    question, text, truncation="only_second", max_length={max_length}, return_tensors="{of}",
    return_offsets_mapping=True,
)
places = inputs.pop("offset_mapping")[0].tolist()
inside = [at for at, which in enumerate(inputs.sequence_ids(0)) if which == 1]
"""
_ANSWER = """_, first, last = max((starts[i] + ends[j], i, j) for i in inside for j in inside if i <= j < i + 30)
answers = text[places[first][0] : places[last][1]]"""
_SPANS = f"""import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForQuestionAnswering.from_pretrained(".")
{_ASKED}with torch.inference_mode():
    found = model(**inputs)
starts, ends = found.start_logits[0].tolist(), found.end_logits[0].tolist()
{_ANSWER}""".replace("{of}", "pt")
_SPANS_ONNX = f"{_ASKED}starts, ends = (each[0] for each in {{run}})\n{_ANSWER}".replace("{of}", "np")

_CHOOSE = """question, choices = "a question", ["one answer", "another"]
inputs = tokenizer([question] * len(choices), choices, padding=True, {cut}, return_tensors="{of}")
inputs = {{name: each[None] for name, each in inputs.items()}}
"""
_CHOSEN = f"""import torch
from transformers import AutoModelForMultipleChoice, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForMultipleChoice.from_pretrained(".")
{_CHOOSE}with torch.inference_mode():
    logits = model(**inputs).logits
answers = choices[int(logits[0].argmax())]""".replace("{of}", "pt")
_CHOSEN_ONNX = f"{_CHOOSE}logits = {{run}}[0]\nanswers = choices[int(logits[0].argmax())]".replace("{of}", "np")

_GUESSED = """from transformers import pipeline

guess = pipeline("fill-mask", ".")
answers = guess(f"a text with one {{guess.tokenizer.mask_token}} word")"""
_GUESSED_ONNX = """texts = [f"a text with one {{tokenizer.mask_token}} word"]
inputs = tokenizer(texts, padding=True, {cut}, return_tensors="np")
logits = {run}[0]
masked = inputs["input_ids"] == tokenizer.mask_token_id
answers = tokenizer.convert_ids_to_tokens(logits[masked].argmax(-1))"""

_VECTORS_ONNX = """texts = ["a text", "another"]
inputs = tokenizer(texts, padding=True, {cut}, return_tensors="np")
answers = {run}[0]"""

_PARSED_ONNX = """import numpy as np

texts = [["a", "text"], ["another"]]
inputs = tokenizer(texts, is_split_into_words=True, padding=True, {cut}, return_tensors="np")
words = [[-1 if word is None else word for word in inputs.word_ids(row)] for row in range(len(texts))]
inputs["words"] = np.array(words)
arcs, relations = {run}
labels = AutoConfig.from_pretrained(".").bertscope["parser"]["relations"]
answers = []  # of each word its governor, counted from 1 (0: the root), and its relation; each word by itself
for row, text in enumerate(texts):
    scores = arcs[row, : len(text), : len(text) + 1].copy()
    scores[np.arange(len(text)), np.arange(len(text)) + 1] = -np.inf  # no word governs itself
    governors = scores.argmax(-1)
    kinds = relations[row, np.arange(len(text)), governors].argmax(-1)
    answers.append([(int(one), labels[kind]) for one, kind in zip(governors, kinds)])"""

_USAGES = {
    "token-classifier": Usage("token-classification", _TAGGED, _TAGGED_ONNX, "AutoConfig, AutoTokenizer"),
    "span-qa": Usage("question-answering", _SPANS, _SPANS_ONNX),
    "multiple-choice": Usage("multiple-choice", _CHOSEN, _CHOSEN_ONNX),
    "masked-lm": Usage("fill-mask", _GUESSED, _GUESSED_ONNX),
    "none": Usage("sentence-similarity", "", _VECTORS_ONNX),
    "parser": Usage("", "", _PARSED_ONNX, "AutoConfig, AutoTokenizer"),
}
"""By task head; of a classifier it depends on what its numbers mean."""


def usage_of(encoder: Encoder) -> Usage:
    if encoder.task_head != "classifier":
        return _USAGES[encoder.task_head]
    scored = encoder.model.config.num_labels == 1
    needs = "AutoTokenizer" if scored else "AutoConfig, AutoTokenizer"
    return Usage("text-classification", _PIPELINE, _CLASSIFIED, needs)


def opens_alone(encoder: Encoder) -> bool:
    """Whether transformers opens it without this package, with what is on top."""
    return bool(usage_of(encoder).plain) and is_plain(encoder) and _has_own_top(encoder)


def _has_own_top(encoder: Encoder) -> bool:
    return ClassifierForm.of(encoder.model.config) == ClassifierForm()


def opening(encoder: Encoder, best: str, *, onnx: bool, pairs: bool = False, threshold: float = 0.0) -> list[str]:
    """The ways to use it, as the card has them, with the file of the `best` form; `pairs` says whether a classifier
    reads two texts at a time, and `threshold` from which log-odds on one of several labels is given."""
    usage, ways = usage_of(encoder), [_BERTSCOPE]
    words = _words(encoder, pairs, threshold)
    if not is_plain(encoder):
        ways.append(_UNEVEN)
    elif not _has_own_top(encoder):
        ways.append(_OTHER_TOP)
    elif not usage.plain:
        ways.append(_NO_TOP)
    else:
        ways.append(_TRANSFORMERS.format(code=usage.plain.format(**words)))
    if onnx:
        files = "`model.onnx` and `model-int8.onnx`, which are the cut model"
        if best == WHOLE_INT8:
            files = f"`{ONNX_FILES[best]}`, which is the whole model, and {files}"
        words |= {"files": files, "file": ONNX_FILES[best], "needs": usage.needs}
        ways.append(_ONNX.format(code=usage.onnx.format(**words), **words))
    return ways


def _words(encoder: Encoder, pairs: bool, threshold: float) -> dict[str, Any]:
    """What stands in the templates."""
    config = encoder.model.config
    several = config.problem_type == "multi_label_classification"
    chosen = "answers = [labels[int(row.argmax())] for row in logits]"
    if several:
        given = f"[labels[at] for at, size in enumerate(row) if size > {threshold:.6g}]"
        chosen = f"answers = [{given} for row in logits]  # {_GIVEN.format(share=_share(threshold))}"
    return {
        "max_length": encoder.max_length,
        "cut": _CUT.format(max_length=encoder.max_length),
        "run": _RUN,
        "labels": _LABELS,
        "texts": _TWO_TEXTS if pairs else _ONE_TEXT,
        "given": "[one for one, _ in texts], [other for _, other in texts]" if pairs else "texts",
        "piped": '[{"text": one, "text_pair": other} for one, other in ' + _TWO_TEXTS + "]" if pairs else _ONE_TEXT,
        "how": "top_k=None, " if several else "",
        "given_from": f"  # {_GIVEN.format(share=_share(threshold))}" if several else "",
        "answers": "answers = logits[:, 0].tolist()" if config.num_labels == 1 else _LABELS + chosen,
    }


def _share(threshold: float) -> str:
    """
    >>> _share(0.0), _share(-2.0)
    ('0.5', '0.119')
    """
    return f"{1 / (1 + math.exp(-threshold)):.3g}"
