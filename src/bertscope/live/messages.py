"""What the page asks and what it is told: plain values, which the server reads from JSON and writes to it.

Layers and heads are counted from 1, places in texts from 0. A checkpoint is named by its place: 0 is the model, 1 the
other one. Nothing here is a path, and nothing that a page sends is opened as one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bertscope.live.asked import AskHead as AskHead
from bertscope.live.asked import AskRows as AskRows
from bertscope.live.asked import Change as Change
from bertscope.live.asked import Compare as Compare
from bertscope.live.asked import Explain as Explain
from bertscope.live.asked import LookAt as LookAt
from bertscope.live.asked import Method as Method
from bertscope.live.asked import Off as Off
from bertscope.live.asked import Order as Order
from bertscope.live.asked import Patch as Patch
from bertscope.live.asked import Reading as Reading


@dataclass(frozen=True)
class Checkpoint:
    name: str
    id: str
    """The digest of what it holds."""
    shape: list[int]
    """How many heads each layer has."""
    predicts: str
    """The kind of its output, in words; empty where it predicts nothing."""
    labels: list[str]
    notes: list[str]


@dataclass(frozen=True)
class Colouring:
    """What the store knows of every head of a checkpoint, as one number each."""

    key: str
    label: str
    """`ablate: change of the score`"""
    model: int
    signed: bool
    """Whether 0 is the middle of its colours."""
    values: list[list[float | None]]
    """[layer][head]"""


@dataclass(frozen=True)
class Preset:
    """Parts to switch off at a click."""

    key: str
    label: str
    """`the ten heads that matter most (importance)`"""
    model: int
    off: list[str]


@dataclass(frozen=True)
class Limits:
    letters: int
    """Of all that is read at once."""
    tokens: int
    parts: int
    """Switched off or exchanged at once."""
    compared: int


@dataclass(frozen=True)
class About:
    version: str
    checkpoints: list[Checkpoint]
    pair: bool
    """Whether what is read are pairs, by the data."""
    called: list[str]
    """What the first text and the second are, to people."""
    choices: bool
    modes: list[Off]
    graft: str
    """Empty where parts can be exchanged between the two; otherwise why not."""
    data: str
    """What its rows are from; empty without data."""
    rows: int
    example: Reading
    """What to show first."""
    colourings: list[Colouring]
    presets: list[Preset]
    patterns: list[str]
    """The names of shapes of attention."""
    palettes: dict[str, dict[str, list[str] | str]]
    """As `report/theme.py` has them."""
    limits: Limits


@dataclass(frozen=True)
class Share:
    label: str
    p: float | None
    """Its probability; None of what has none."""
    value: float
    """The logit, or the score itself."""


@dataclass(frozen=True)
class Mark:
    """A piece of a text: an entity, an answer, a word with its tag."""

    side: int
    """0: the text; 1: the pair."""
    start: int
    end: int
    """In letters."""
    label: str
    p: float | None
    """Of an entity of several words, that of the least sure one."""


@dataclass(frozen=True)
class Guesses:
    """What could stand in the place of a mask."""

    token: int
    words: list[Share]


@dataclass(frozen=True)
class Prediction:
    """What a checkpoint says; whichever of these its output has."""

    kind: str
    """As `Output.kind`."""
    said: str
    """It in a few words."""
    p: float | None
    """The probability of what it says; None of what has none."""
    shares: list[Share] = field(default_factory=list)
    """Of labels or candidates, the likeliest first; of a score, one."""
    marks: list[Mark] = field(default_factory=list)
    guesses: list[Guesses] = field(default_factory=list)


@dataclass(frozen=True)
class Token:
    text: str
    side: int
    """0 and 1: in which text it is; -1: added by the tokenizer, such as [CLS]. Of choices, candidates count from 1.
    What is read in several rows (candidates, two texts that are compared) has their tokens one after the other, and
    maps that are 0 between them."""
    start: int
    end: int
    """In letters of its text; 0 and 0 of added ones."""


@dataclass(frozen=True)
class Maps:
    """The attention of layers from `first` on: those below are as they are without any change."""

    first: int
    step: float
    wide: bool
    levels: str
    """As `report/attention_levels.py` packs them, for `report/scripts/attention/maps.js`."""
    patterns: list[list[str]]
    """[layer from `first` on][head]: the shape of its map; empty where a text is too short to have one."""


@dataclass(frozen=True)
class Seen:
    """One checkpoint's side of it."""

    tokens: list[Token]
    before: Prediction | None
    """With nothing changed; None where it predicts nothing."""
    after: Prediction | None
    maps: Maps | None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Look:
    seen: list[Seen]
    change: list[list[float | None]]
    """[layer][head]: how far the two checkpoints' maps are apart, 0 to 1; empty unless both read the same tokens."""
    milliseconds: float


@dataclass(frozen=True)
class Word:
    side: int
    start: int
    end: int
    value: float


@dataclass(frozen=True)
class Explanation:
    """How much each word did for one thing that a checkpoint says."""

    explained: str
    whole: float
    baseline: float
    """The same with every word masked."""
    words: list[Word]


@dataclass(frozen=True)
class Explained:
    seen: list[Explanation | None]
    """Of each checkpoint; None where it predicts nothing."""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    id: str
    reading: Reading
    gold: str
    said: list[str]
    """Of each checkpoint."""
    p: list[float | None]
    """The probability of what it says."""
    right: bool | None
    """Whether the first checkpoint is; None where there is no right or wrong."""


@dataclass(frozen=True)
class Rows:
    rows: list[Row]
    found: int


@dataclass(frozen=True)
class Moved:
    before: Prediction
    after: Prediction
    distance: float
    """How far the two are apart: total variation of probabilities, or the difference of scores."""


@dataclass(frozen=True)
class Compared:
    moved: list[list[Moved | None]]
    """[reading][checkpoint]"""


@dataclass(frozen=True)
class PatchedPart:
    part: str
    restored: float
    """The share of the difference that this part carries: 1 where the other text with this part's output from the
    first is answered as the first."""


@dataclass(frozen=True)
class Patched:
    clean: float
    corrupted: float
    """The first answer's logit minus the second's, in either text."""
    answers: list[str]
    tokens: list[list[Token]]
    """Of either text."""
    parts: list[PatchedPart]
    """Every head and MLP (all tokens), and layers at the changed tokens (`layer:3@changed`), but for what carries all
    or nothing by construction."""


@dataclass(frozen=True)
class Fact:
    label: str
    value: str
    note: str = ""
    """Its interval, its place among the heads, or what it rests on."""


@dataclass(frozen=True)
class Card:
    """What is known of a head."""

    title: str
    facts: list[Fact]


@dataclass(frozen=True)
class Refused:
    """Why there is no answer: one line."""

    error: str
