"""`src/bertscope/__init__.pyi`, made from the declarations: what IDEs and type checkers see of the package.

`python tests/support/call_stub.py` writes it anew.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import bertscope
from bertscope.core import registry
from bertscope.core.question import Input, Question
from bertscope.data.options import TaskOptions
from bertscope.data.pair_options import PairOptions

STUB = Path(bertscope.__file__).with_suffix(".pyi")
_HEAD = '''"""bertscope opens up BERT-family encoders before and after fine-tuning."""

# Made from the declarations by tests/support/call_stub.py: a test holds it to them. Change those, and run that.

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from bertscope import catalogue as catalogue
{imports}

__version__: str
__all__: list[str]

class _TransformersModel(Protocol):
    def get_input_embeddings(self) -> Any: ...
    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any: ...

class _TransformersTokenizer(Protocol):
    def convert_tokens_to_ids(self, *args: Any, **kwargs: Any) -> Any: ...
    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any: ...

class _DataFrame(Protocol):
    @property
    def columns(self) -> Any: ...
    @property
    def iloc(self) -> Any: ...

class _Series(Protocol):
    def isna(self) -> Any: ...
    def tolist(self) -> Any: ...

class _Dataset(Protocol):
    @property
    def column_names(self) -> Any: ...
    def with_format(self, *args: Any, **kwargs: Any) -> Any: ...

ModelLike: TypeAlias = str | Path | Encoder | _TransformersModel
"""`pocket`, a folder, a hub id, a transformers model, or an Encoder."""
StatesLike: TypeAlias = ModelLike | StatesStore
"""A model, or hidden states that are kept already."""
TokenizerLike: TypeAlias = str | Path | _TransformersTokenizer
DataLike: TypeAlias = (
    str | Path | Sequence[str] | Sequence[Mapping[str, Any]] | _DataFrame | _Series | _Dataset | Task | Examples
)
"""A name or a path, a list of texts or of dicts, a DataFrame or a Series, a Dataset, a DatasetDict or a Column, a
Task, or Examples."""
PairsLike: TypeAlias = DataLike | MinimalPairs | Sequence[tuple[Any, Any]]
"""A name or a path, a list of tuples (clean, corrupted) or of dicts, a DataFrame, a Dataset, or MinimalPairs; with
`swap` any texts."""
ResultLike: TypeAlias = str | Path | Result
"""A result, or its folder."""
StoreLike: TypeAlias = str | Path | Store
'''
_LIKE = {"model": "ModelLike", "scorer": "ModelLike", "states": "StatesLike", "result": "ResultLike",
         "task": "DataLike", "examples": "DataLike", "data": "DataLike", "pairs": "PairsLike",
         "map_labels": "str | Path", "documents": "str | Path"}  # fmt: skip
_COMMON = {
    "store": ("StoreLike | None", "The store in which the answer is looked for, and kept."),
    "tokenizer": ("TokenizerLike | None", "Of a transformers model that doesn't say where its tokenizer is."),
    "base": ("str | Path | None", "What models whose origin isn't recorded were fine-tuned from."),
    "shards": (
        "int | str | None",
        "Read the texts in so many parts, or such large ones, each a step, and add them up.",
    ),
    "workers": ("int", "Processes of this machine that make these steps; 0 is this one."),
    "out": ("str | Path | None", "The folder to write to."),
    "resume": ("bool", "Whether to go on from what was left unfinished there."),
}
_READERS = {"read_task": TaskOptions, "read_examples": TaskOptions, "read_pairs": PairOptions}
"""Functions that take options which their source spells as `**options`."""


def stub() -> str:
    """The file as it should be."""
    public = {name: getattr(bertscope, name) for name in bertscope.__all__}
    questions = {name: value for name, value in public.items() if isinstance(value, Question)}
    lines = []
    beside = {one for question in questions.values() for one in (returned(question), question.config)}
    for name in public:
        if name not in questions and name not in _READERS:
            lines.append(f"from {bertscope._WHERE[name]} import {name} as {name}")
    lines += [f"from {one.__module__} import {one.__name__}" for one in beside if one.__name__ not in public]
    parts = [_HEAD.format(imports="\n".join(sorted(lines)))]
    parts += [_reader(name, public[name]) for name in _READERS]
    parts += [_function(name, question) for name, question in questions.items()]
    return "\n".join(parts)


def written_type(hint: Any) -> str:
    """A setting's type as callers may give it: several as any sequence, or one.

    >>> written_type(tuple[int, ...]), written_type(Literal["a", "b"] | None), written_type(Path | None)
    ('int | Sequence[int]', "Literal['a', 'b'] | None", 'str | Path | None')
    """
    inside, origin = get_args(hint), get_origin(hint)
    if origin in (Union, UnionType):
        return " | ".join(written_type(one) for one in inside)
    if origin is tuple:
        one = written_type(inside[0])
        return f"{one} | Sequence[{one}]"
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inside))}]"
    return {NoneType: "None", Path: "str | Path"}.get(hint) or hint.__name__


def docs_of(config: type) -> dict[str, str]:
    """The docstring under each field of a dataclass, inherited ones too, on one line."""
    found: dict[str, str] = {}
    for one in reversed(config.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                assert isinstance(field.target, ast.Name) and isinstance(after.value, ast.Constant)
                found[field.target.id] = " ".join(str(after.value.value).split())
    return found


def _function(name: str, question: Question) -> str:
    options = registry.reading_options(question.asked_of[question.reads].kind if question.reads else "task")
    settings, reading = get_type_hints(question.config), get_type_hints(options)
    docs = docs_of(options) | docs_of(question.config)
    first, keywords, said = [], [], {}
    for parameter in inspect.signature(question).parameters.values():
        which, default = parameter.name, parameter.default
        if which in question.asked_of:
            first.append(f"{which}: {_like(question, which)}")
        elif which == "config":
            first.append(f"config: {question.config.__name__} | None = None")
        elif which in question.flags:
            one = question.flags[which]
            several = f" | Sequence[{_LIKE[one.kind]}]" if one.many else ""
            keywords.append(f"{which}: {_LIKE[one.kind]}{several} | None = None")
            said[which] = question.flags[which].flag
        else:
            hint = written_type((settings if which in settings else reading)[which]) if which in docs else ""
            said[which] = docs.get(which) or _COMMON[which][1]
            keywords.append(f"{which}: {hint or _COMMON[which][0]} = {default!r}")
    about = [question.description, "", "Args:", *(f"    {which}: {words}" for which, words in said.items())]
    return _defined(name, [*first, "*", *keywords], returned(question).__name__, "\n".join(about))


def _reader(name: str, function: Any) -> str:
    own, options = inspect.signature(function), get_type_hints(_READERS[name])
    docs, keywords, said = docs_of(_READERS[name]), [], {}
    for parameter in list(own.parameters.values())[1:]:
        which = parameter.name
        hint = options[which] if which in options else get_type_hints(function)[which]
        keywords.append(f"{which}: {written_type(hint)} = {parameter.default!r}")
        said |= {which: docs[which]} if which in docs else {}
    listed = [f"    {which}: {words}" for which, words in said.items()]
    about = "\n".join([inspect.cleandoc(function.__doc__), "", "Args:", *listed])
    like = _LIKE["pairs" if _READERS[name] is PairOptions else "data"]
    return _defined(name, [f"source: {like}", "*", *keywords], own.return_annotation, about)


def _defined(name: str, parameters: list[str], returns: str, about: str) -> str:
    listed = "".join(f"    {one},\n" for one in parameters)
    quoted = about.replace("\\", "\\\\")
    return f'def {name}(\n{listed}) -> {returns}:\n{textwrap.indent(f"{chr(34) * 3}{quoted}", "    ")}\n    """\n'


def _like(question: Question, name: str) -> str:
    one: Input = question.asked_of[name]
    place = list(question.asked_of).index(name)
    # What is answered in memory from models can also be given the hidden states that a plan would make of them.
    reads = list(question.inputs.values())[place] if question.given and not question.needs_store else one
    like = _LIKE[reads.kind]
    return f"{like} | Sequence[{like}]" if one.many else like


def returned(question: Question) -> type:
    if question.shares_pass:
        return bertscope.Result
    return get_type_hints(registry.resolve(f"{question._measuring}:measure"))["return"]


def write() -> None:
    STUB.write_text(stub(), encoding="utf-8")


if __name__ == "__main__":
    write()
