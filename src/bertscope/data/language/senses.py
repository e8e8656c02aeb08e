"""The verbs of the demo language: each sense with its frame, and with what can fill the frame's elements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """A verb's forms."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


@dataclass(frozen=True)
class Slot:
    """A frame's element: what can fill it, and the preposition that it takes."""

    role: str
    kinds: tuple[str, ...]
    preposition: str = ""


@dataclass(frozen=True, eq=False)
class Sense:
    """A verb in one of its meanings; two are the same only if they are the same object."""

    frame: str
    verb: Verb
    subject: Slot
    object: Slot | None = None
    oblique: Slot | None = None
    """What follows with a preposition; `to` a recipient can also stand bare before the object."""
    content: str = ""
    """The element that a whole clause fills ("said that ...")."""
    adverbs: tuple[str, ...] = ()
    """Ways of doing it."""
    located: bool = True
    """Whether "in the garden" can say where it happens."""
    ongoing: bool = True
    """Whether it can be under way ("was reading")."""

    @property
    def dative(self) -> bool:
        """Whether the oblique can move before the object: "gave the boy a book"."""
        return self.object is not None and self.oblique is not None and self.oblique.preposition == "to"


def verb(forms: str) -> Verb:
    """`give gave given`: base, past and participle; regular ones are given by their base alone, and a participle
    that is the past is left out."""
    base, *rest = forms.split()
    stem = base[:-1] if base.endswith("e") else base
    doubled = base in {"hit", "put", "run", "sit", "cut"}
    soft_y = base.endswith("y") and base[-2] not in "aeiou"
    past = rest[0] if rest else f"{base[:-1]}ied" if soft_y else f"{stem}ed"
    hissing = base.endswith(("s", "sh", "ch", "x", "o"))
    third = f"{base[:-1]}ies" if soft_y else f"{base}es" if hissing else f"{base}s"
    gerund = f"{base}{base[-1]}ing" if doubled else f"{base if base == 'see' else stem}ing"
    return Verb(base, third, past, rest[1] if len(rest) > 1 else past, gerund)


def _slot(text: str) -> Slot | None:
    """`Recipient to: person name`."""
    if not text.strip():
        return None
    named, _, kinds = text.partition(":")
    role, *preposition = named.split()
    return Slot(role, tuple(kinds.split()), " ".join(preposition))


_WHO = "person person name name kin"  # kin are drawn less often
_SEEN = f"{_WHO} animal building built thing"
_TABLE = f"""
Giving | give gave given | Donor: {_WHO} | Theme: text thing clothes food | Recipient to: {_WHO} | quietly gladly
Offering | offer | Offerer: {_WHO} | Theme: food drink | Potential_recipient to: {_WHO} | quietly gently
Commerce_sell | sell sold | Seller: {_WHO} | Goods: stock building clothes thing furniture | Buyer to: {_WHO} |
Commerce_sell | sell sold | Seller: organisation | Goods: building | Buyer to: {_WHO} |
Sending | send sent | Sender: {_WHO} | Theme: text | Recipient to: {_WHO} organisation | quickly
Cause_to_perceive | show showed shown | Agent: {_WHO} | Phenomenon: text thing clothes | Perceiver to: {_WHO} |
Bringing | bring brought | Agent: {_WHO} | Theme: food drink text thing | Goal to: {_WHO} | quickly quietly
Ingestion | eat ate eaten | Ingestor: {_WHO} pet | Ingestibles: food | | slowly quickly quietly
Ingestion | drink drank drunk | Ingestor: {_WHO} | Ingestibles: drink | | slowly quickly quietly
Reading_activity | read read | Reader: {_WHO} | Text: text | | slowly quietly carefully
Text_creation | write wrote written | Author: {_WHO} | Text: text song | | slowly quickly carefully
Perception_active | watch | Perceiver_agentive: {_WHO} animal | Phenomenon: {_WHO} animal | | quietly silently
Perception_experience | see saw seen | Perceiver_passive: {_WHO} animal | Phenomenon: {_SEEN} | | suddenly
Perception_experience | hear heard | Perceiver_passive: {_WHO} | Phenomenon: {_WHO} animal song | | suddenly
Closure | open opened | Agent: {_WHO} | Container_portal: openable | | slowly quickly quietly carefully
Closure | close closed | Agent: {_WHO} | Container_portal: openable | | slowly quickly quietly carefully
Closure | lock | Agent: {_WHO} | Container_portal: lockable | | quickly quietly carefully
Building | build built | Agent: {_WHO} organisation | Created_entity: building built | | slowly
Cotheme | follow | Theme: {_WHO} animal | Cotheme: {_WHO} animal | | slowly quietly silently
Assistance | help | Helper: {_WHO} | Benefited_party: {_WHO} | | often
Judgment_direct_address | thank | Communicator: {_WHO} | Addressee: {_WHO} | | quietly softly
Judgment | blame | Cognizer: {_WHO} | Evaluee: {_WHO} | | often
Visiting | visit visited | Agent: {_WHO} | Entity: {_WHO} land building | | often
Locating | find found | Perceiver: {_WHO} | Sought_entity: {_WHO} animal text thing clothes | | finally
Losing | lose lost | Owner: {_WHO} | Possession: text thing clothes | | often
Commerce_buy | buy bought | Buyer: {_WHO} | Goods: stock building food clothes thing furniture | | often
Commerce_buy | buy bought | Buyer: organisation | Goods: building | | 
Theft | steal stole stolen | Perpetrator: {_WHO} | Goods: stock food clothes thing | | often quietly
Create_artwork | paint painted | Creator: {_WHO} | Representation: lockable building built | | slowly carefully
Emotion | love | Experiencer: {_WHO} | Content: {_WHO} pet | | always
Emotion | hate | Experiencer: {_WHO} | Content: {_WHO} | | always
Memory | remember remembered | Cognizer: {_WHO} | Content: {_WHO} land song text | | often
Attack | attack | Assailant: wild | Victim: person animal | | suddenly
Rescuing | save | Agent: {_WHO} | Asset: {_WHO} animal | | finally
Contacting | call | Communicator: {_WHO} | Addressee: {_WHO} | | often
Bringing | carry | Agent: {_WHO} | Theme: food thing | Goal into: place | slowly carefully
Cause_to_move | push | Agent: {_WHO} | Theme: furniture | Goal into: place | slowly quickly
Placing | put put | Agent: {_WHO} | Theme: food thing text | Goal on: surface | slowly quickly carefully
Placing | hide hid hidden | Agent: {_WHO} | Theme: thing text clothes | Goal in: container | quickly quietly carefully
Self_motion | walk | Self_mover: {_WHO} animal | | Goal to: place | slowly quickly quietly
Self_motion | run ran run | Self_mover: {_WHO} | | Goal into: place | quickly suddenly
Self_motion | walk | Self_mover: {_WHO} animal | | Path through: place | slowly quickly quietly
Self_motion | walk | Self_mover: {_WHO} animal | | Path along: place | slowly quickly quietly
Self_motion | run ran run | Self_mover: {_WHO} animal | | Path across: place | quickly suddenly
Motion | travel travelled | Theme: {_WHO} | | Goal to: land | slowly often
Arriving | return returned | Theme: {_WHO} | | Source from: place land | quickly finally
Departing | leave left | Theme: {_WHO} | Source: land place | | quickly quietly suddenly
Being_employed | work | Employee: {_WHO} | | Employer for: organisation name | often
Residence | live lived | Resident: {_WHO} | | Location in: land home | quietly
Waiting | wait waited | Protagonist: {_WHO} animal | | Expected_event for: {_WHO} | quietly
Make_noise | laugh | Sound_source: {_WHO} | | | loudly softly suddenly quietly
Sleep | sleep slept | Sleeper: {_WHO} animal | | | quietly
"""
_TELLING = f"""
Statement | say said | Speaker: {_WHO} | Message
Statement | announce | Speaker: {_WHO} organisation | Message
Awareness | know knew known | Cognizer: {_WHO} | Content
Awareness | believe | Cognizer: {_WHO} | Content
Opinion | think thought | Cognizer: {_WHO} | Opinion
Expectation | hope | Cognizer: {_WHO} | Phenomenon
Memory | remember remembered | Cognizer: {_WHO} | Content
"""
_UNPLACED = {"Motion", "Arriving", "Departing", "Self_motion", "Bringing", "Cause_to_move", "Residence", "Emotion",
             "Being_employed", "Memory", "Building", "Rescuing", "Placing", "Judgment", "Awareness", "Opinion",
             "Expectation", "Statement", "Visiting", "Sending", "Create_artwork",
             "Attack"}  # fmt: skip
_LASTING = {"Emotion", "Memory", "Perception_experience", "Locating", "Losing", "Awareness", "Opinion", "Judgment"}


def _senses() -> tuple[Sense, ...]:
    found = []
    for line in _TABLE.strip().splitlines():
        frame, forms, subject, direct, oblique, adverbs = (part.strip() for part in line.split("|"))
        first = _slot(subject)
        assert first is not None
        found.append(
            Sense(frame, verb(forms), first, _slot(direct), _slot(oblique), adverbs=tuple(adverbs.split()),
                  located=frame not in _UNPLACED, ongoing=frame not in _LASTING)
        )  # fmt: skip
    return tuple(found)


def _telling() -> tuple[Sense, ...]:
    found = []
    for line in _TELLING.strip().splitlines():
        frame, forms, subject, content = (part.strip() for part in line.split("|"))
        first = _slot(subject)
        assert first is not None
        found.append(Sense(frame, verb(forms), first, content=content, located=False, ongoing=False))
    return tuple(found)


SENSES = _senses()
TELLING = _telling()
TRANSITIVE = tuple(sense for sense in SENSES if sense.object and not sense.oblique)
DATIVE = tuple(sense for sense in SENSES if sense.dative and sense.frame != "Bringing")
BETWEEN_PEOPLE = tuple(
    sense
    for sense in TRANSITIVE
    if {"person", "name"} <= {*sense.subject.kinds} & {*sense.object.kinds}  # type: ignore[union-attr]
)
"""What one person does to another and can have done to him: roles that can be swapped."""
