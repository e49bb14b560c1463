"""Every error that dagrl raises on purpose, split by who must act.

DagrlError
├── UserError              the user's input: exit 2, nothing was started
│   ├── SpecError          one or many faults in specs, each with its place
│   └── UsageError         a command line or a call that cannot work
├── MachineError           this machine: no disk, no process, no device
│   └── ExecutorError      an executor that cannot be started or reached
└── InvariantError         our own fault: the story of what led to it is in the message
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells the shell."""

    DONE = 0
    JOB_FAILED = 1
    BAD_USAGE = 2
    INTERRUPTED = 130


class DagrlError(Exception):
    """The root of everything raised on purpose."""


class UserError(DagrlError):
    """The user's input cannot be used."""


class UsageError(UserError):
    """A command line or a call that cannot work."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong in a spec: where, in which key, and what would be right.

    `file`, `line` and `column` are empty and 0 where the job came from Python and not from a file.
    """

    file: str
    line: int
    column: int
    #: The key's path as people write it: `steps.train.needs[0]`; empty for the document itself.
    path: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return ": ".join(part for part in (place, self.path, self.message) if part)


class SpecError(UserError):
    """Faults in specs, all that were found at once; the message has one line for each."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: Sequence[Fault] = sorted(set(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class MachineError(DagrlError):
    """The machine cannot do what is asked."""


class ExecutorError(MachineError):
    """An executor that cannot be started or reached."""


class InvariantError(DagrlError):
    """The program's own rules were broken: a fault of dagrl, please report it."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'reward'?)` when a known word is close, else an empty string."""
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
