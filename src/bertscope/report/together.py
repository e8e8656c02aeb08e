"""What the answers to one question share, side by side: their numbers, their figures as panels on one scale, and one
table of each name for all of them. Each answer in full stands below, folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from bertscope.core.number import Number
from bertscope.report import packed
from bertscope.report.answer import Answer, Card, Table, card_of
from bertscope.report.multiples import Multiple, multiples
from bertscope.report.told_apart import Told

_OPEN = 3
"""How many of the shared numbers stand open, the main one first; the others are folded."""


@dataclass(frozen=True)
class Cell:
    card: Card
    further: str
    """What it is of, where that isn't the same in all answers."""


@dataclass(frozen=True)
class Shared:
    """A number that several answers have."""

    name: str
    unit: str
    """That of all; empty where they differ, and each has its own."""
    cells: list[Cell | None]
    """For each answer its own, if it has one."""
    is_main: bool


@dataclass(frozen=True)
class SharedTable:
    """The tables of one name."""

    name: str
    tables: list[tuple[Answer, Told, Table]]
    """Whose they are."""
    words: dict[str, str]

    @property
    def total(self) -> int:
        return sum(table.total for *_, table in self.tables)

    @property
    def on_paper(self) -> bool:
        """Whether a printed page can hold one of them."""
        return any(table.on_paper for *_, table in self.tables)

    def most(self, rows: int) -> int:
        """How many rows are shown, if it is so many of other tables: all that paper holds."""
        return max(rows, sum(table.total for *_, table in self.tables if table.on_paper))


@dataclass(frozen=True)
class Together:
    id: str
    about: str
    """The models that all are about."""
    answers: list[tuple[Answer, Told]]
    numbers: list[Shared]
    more_numbers: list[Shared]
    figures: list[Multiple]
    tables: list[SharedTable]
    data: str
    """What the browser draws the figures from, packed."""

    @property
    def leads(self) -> bool:
        """Whether the figure of the first answer is shown, which then needn't stand open itself."""
        return bool(self.figures) and self.figures[0].of is self.answers[0][0].first

    @property
    def open_figures(self) -> list[Multiple]:
        """Those that stand open: the one in the first answer's place."""
        return self.figures[:1] if self.leads else []

    @property
    def more_figures(self) -> list[Multiple]:
        return self.figures[len(self.open_figures) :]

    @property
    def has_main(self) -> bool:
        """Whether the main number of every answer is shown."""
        return any(one.is_main and all(one.cells) for one in self.numbers)

    @property
    def table_names(self) -> list[str]:
        return [table.name for table in self.tables]


def together(answers: Sequence[Answer], told: Sequence[Told], section: str, main: str) -> Together | None:
    """What they share; None where it is nothing, or there is only one answer. `main` is the key of the number that
    stands for a whole result."""
    if len(answers) < 2:
        return None
    numbers, tables = _numbers(answers, told, main), _tables(answers, told)
    figures = multiples(answers, told, section)
    if not (numbers or figures or tables):
        return None
    models = {" and ".join(dict.fromkeys(each.models.values())) for each in told}
    return Together(
        f"{section}-together", models.pop() if len(models) == 1 else "", list(zip(answers, told, strict=True)),
        numbers[:_OPEN], numbers[_OPEN:], figures, tables,
        packed.pack({"tables": {}, "figures": [one.shared for one in figures]}),
    )  # fmt: skip


def _numbers(answers: Sequence[Answer], told: Sequence[Told], main: str) -> list[Shared]:
    """The numbers that at least two answers have, the main one first."""
    found: dict[tuple[str, ...], list[Number | None]] = {}
    for place, answer in enumerate(answers):
        for number in answer.result.headline:
            found.setdefault(_which(number, answer), [None] * len(answers))[place] = number
    shared = [_shared(numbers, told, key == main) for (key, *_), numbers in found.items() if _several(numbers)]
    return sorted(filter(None, shared), key=lambda one: not one.is_main)


def _which(number: Number, answer: Answer) -> tuple[str, ...]:
    """By which numbers of several answers are one: the key, and what tells it from others of the same key; a model by
    its place, not by its id."""
    alike = [each for each in answer.result.headline if each.key == number.key]
    telling = [name for name in number.of if len({each.of.get(name) for each in alike}) > 1]
    models = list(answer.result.models)
    return number.key, *(
        f"{name} {models.index(value) if value in models else value}"
        for name in telling for value in (number.of[name],)
    )  # fmt: skip


def _several(numbers: Sequence[Number | None]) -> bool:
    return sum(number is not None for number in numbers) > 1


def _shared(numbers: Sequence[Number | None], told: Sequence[Told], is_main: bool) -> Shared | None:
    """One number of all; what of its name isn't the same stands beside the value."""
    pairs = zip(numbers, told, strict=True)
    labels = [each.words(number.label).split() if number else None for number, each in pairs]
    known = [label for label in labels if label is not None]
    same = [words[0] for words in takewhile(lambda words: len({*words}) == 1, zip(*known, strict=False))]
    name = " ".join(same).rstrip(" ,:(")
    cells = [
        Cell(card_of(number), " ".join(label[len(same):])) if number and label is not None else None
        for number, label in zip(numbers, labels, strict=True)
    ]  # fmt: skip
    units = {cell.card.unit for cell in cells if cell}
    if len(units) > 1:
        return Shared(name, "", cells, is_main) if name else None
    plain = [cell and replace(cell, card=replace(cell.card, unit="")) for cell in cells]
    return Shared(name, units.pop(), plain, is_main) if name else None


def _tables(answers: Sequence[Answer], told: Sequence[Told]) -> list[SharedTable]:
    """Those that at least two answers have."""
    names = dict.fromkeys(table.name for answer in answers for table in answer.tables)
    found = {
        name: [(answer, each, table) for answer, each in zip(answers, told, strict=True)
               for table in answer.tables if table.name == name]
        for name in names
    }  # fmt: skip
    return [SharedTable(name, mine, _words(mine)) for name, mine in found.items() if len(mine) > 1]


def _words(mine: Sequence[tuple[Answer, Told, Table]]) -> dict[str, str]:
    """What the columns mean; where answers say it differently, as the first does."""
    words: dict[str, str] = {}
    for *_, table in mine:
        words |= {column: meaning for column, meaning in table.words.items() if column not in words}
    return words
