"""Configs are frozen dataclasses; here they become JSON and come back, and refuse what many refuse."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from math import inf, isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.limits import LARGEST_NUMBER, MOST_SEEDS

Config = TypeVar("Config")


def refuse_bare_text(config: Any) -> None:
    """Refuse `units="head"` for `units=("head",)`: each of its letters would be one."""
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, str) and str(field.type).startswith("tuple["):
            raise UserError(f"{field.name} is {value!r}; it takes several: {field.name}=({value!r},)")


def to_json(config: Any) -> dict[str, Any]:
    """Every field with its value, defaults included: a changed default is a changed identity."""
    refuse_bare_text(config)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(config).items()}


def from_json(config_class: type[Config], data: Mapping[str, Any]) -> Config:
    """The config those keys describe. A key it doesn't have is the user's mistake, with a suggestion."""
    known = [field.name for field in fields(config_class)]  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise UserError(f"unknown setting {key!r}; {did_you_mean(key, known)}")
    return config_class(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})


def check_known(what: str, words: str | Iterable[str], known: Collection[str]) -> None:
    """Refuse a word that isn't among the known, or any of several: `unknown mode 'zreo'; did you mean 'zero'?`."""
    for word in (words,) if isinstance(words, str) else words:
        if word not in known:
            raise UserError(f"unknown {what} {word!r}; {did_you_mean(word, known)}")


def check_choices(config: Any) -> None:
    """Refuse a word that isn't among those that its field's annotation lists, whether it takes one or several, or a
    number in the place of a word."""
    for name, hint in get_type_hints(type(config)).items():
        value = getattr(config, name)
        for one in (hint, *get_args(hint)):  # `Literal[...]`, a tuple of such, or such or a number
            if get_origin(one) is Literal and type(value) not in get_args(hint):
                check_known(name.replace("_", "-"), value, get_args(one))


def check_least(config: Any, **least: float) -> None:
    """Refuse a number that is too small or none at all, unless it isn't given: `batch-size is 0; it must be at least
    1`."""
    for name, bound in least.items():
        value = getattr(config, name)
        if value == inf:
            raise UserError(f"{name.replace('_', '-')} is {value}; give a finite number")
        if isinstance(value, int) and value > LARGEST_NUMBER:
            raise UserError(f"{name.replace('_', '-')} is larger than 2**63 - 1; give a smaller number")
        if value is not None and not value >= bound:  # so that NaN is refused too
            raise UserError(f"{name.replace('_', '-')} is {value}; it must be at least {bound}")


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that repeat one training, or that no generator takes."""
    if len(seeds) > MOST_SEEDS:
        raise UserError(f"{len(seeds):,} seeds, each of which is a training; give {MOST_SEEDS:,} at most")
    if max(seeds, default=0) > LARGEST_NUMBER:
        raise UserError("a seed is larger than 2**63 - 1; give smaller numbers")
    if not seeds or len(set(seeds)) != len(seeds) or min(seeds) < 0:
        given = ", ".join(map(str, seeds[:5])) + ", ..." * (len(seeds) > 5)
        raise UserError(f"seeds are ({given}); give one or more different numbers, none under 0")


_IN_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "a path"}


def as_given(name: str, value: Any, hint: Any) -> Any:
    """The value of a setting that is given in Python, as its annotation has it; what isn't of that type is refused.

    >>> as_given("seeds", range(3), tuple[int, ...]), as_given("units", "head", tuple[str, ...])
    ((0, 1, 2), ('head',))
    """
    return as_annotated(name, _written(value), hint, repr)


def _written(value: Any) -> Any:
    """A value of Python's as a file could have it: several are a list, a path its text, numpy's numbers plain."""
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [_written(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def as_annotated(name: str, value: Any, hint: Any, spelled: Callable[[Any], str] | None = None) -> Any:
    """The value of a setting that is written in a file, as its annotation has it; what isn't of that type is refused,
    `spelled` as its writer did.

    One value stands for a list of one, a whole number for a number with a fraction, a number for its text.

    >>> as_annotated("seeds", 3, tuple[int, ...]), as_annotated("share", 1, float)
    ((3,), 1.0)
    >>> as_annotated("epochs", None, int | None)
    >>> as_annotated("keep", 10, Literal["last", "best"] | int), as_annotated("keep", "best", Literal["best"] | int)
    (10, 'best')
    """
    inside, origin, spelled = get_args(hint), get_origin(hint), spelled or _as_spelled
    if origin in (Union, UnionType):
        if value is None and NoneType in inside:
            return None
        kinds = [one for one in inside if one is not NoneType]
        return as_annotated(name, value, next((one for one in kinds if type(value) is one), kinds[0]), spelled)
    if origin is tuple:
        several = value if isinstance(value, list) else [value]
        return tuple(as_annotated(name, one, inside[0], spelled) for one in several)
    if origin is Literal:
        if not isinstance(value, str) or value not in inside:
            raise UserError(f"{name} is {spelled(value)}; {did_you_mean(str(value), inside)}")
        return value
    if hint is float and type(value) is int:
        value = float(value) if abs(value) < 1e300 else inf  # no number of ours is as long
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is str and type(value) in (int, float):
        return str(value)
    if type(value) is not hint or (hint is float and not isfinite(value)):
        raise UserError(f"{name} is {spelled(value)}; it must be {_IN_WORDS[hint]}")
    return value


def _as_spelled(value: Any) -> str:
    """A value as a study file spells it."""
    named = {None: "empty", True: "true", False: "false"}
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return named[value] if value is None or isinstance(value, bool) else repr(value)
