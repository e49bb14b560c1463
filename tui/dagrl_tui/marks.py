"""How a job is told from the others: a letter and a colour, the same in every view.

Letters carry the meaning, so that nothing is lost without colour. The colours are Okabe and Ito's, which people with
any kind of colour vision can tell apart, the blue a little lighter to be read on black, and one violet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_uppercase, digits


@dataclass(frozen=True, slots=True)
class Mark:
    """A job's letter and colour; `ink` is what is readable on top of the colour."""

    letter: str
    colour: str
    ink: str


_COLOURS = (
    ("#1f83cc", "#ffffff"),
    ("#e69f00", "#000000"),
    ("#009e73", "#ffffff"),
    ("#cc79a7", "#000000"),
    ("#56b4e9", "#000000"),
    ("#d55e00", "#ffffff"),
    ("#f0e442", "#000000"),
    ("#7a5cc8", "#ffffff"),
)


def marks(jobs: Iterable[str]) -> dict[str, Mark]:
    """A mark for each job, in order; jobs beyond the 36th share the letter `?`, beyond the 8th a colour."""
    taken: dict[str, Mark] = {}
    free = dict.fromkeys(ascii_uppercase + digits)
    for index, job in enumerate(jobs):
        own = (character for character in job.upper() if character in free)
        letter = next(own, None) or next(iter(free), "?")
        free.pop(letter, None)
        taken[job] = Mark(letter, *_COLOURS[index % len(_COLOURS)])
    return taken
