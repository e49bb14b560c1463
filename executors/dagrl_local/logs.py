"""A task's own log: what it prints, and why it failed.

Redirects the process's file descriptors, so that what C libraries and child processes print lands there too. A log that
stayed empty is removed.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from dagrl.errors import DagrlError
from dagrl.model import START
from dagrl_local.files import make_directory

_OUTPUTS = (1, 2)
_OWN_FILES = str(Path(__file__).parent)


def log_path(run_directory: Path, job: str, iteration: int, step: str) -> Path:
    """Where the log of a task lies."""
    place = "start" if iteration == START else str(iteration)
    return run_directory / "logs" / job / f"{place}.{step}.log"


@contextmanager
def output_to(path: Path) -> Iterator[None]:
    """Send everything that is printed to a file, behind what is there."""
    make_directory(path.parent)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    _flush()
    kept = [os.dup(fd) for fd in _OUTPUTS]
    try:
        for fd in _OUTPUTS:
            os.dup2(log, fd)
        yield
    finally:
        _flush()
        for fd, old in zip(_OUTPUTS, kept, strict=True):
            os.dup2(old, fd)
            os.close(old)
        if os.fstat(log).st_size == 0:
            path.unlink(missing_ok=True)
        os.close(log)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A step may have closed or replaced it.
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()


def one_line(error: BaseException) -> str:
    """`ValueError: what was wrong`, without further lines, even of an exception that cannot say it."""
    try:
        lines = printable(str(error)).strip().splitlines()
    except Exception as worse:  # noqa: BLE001 - the user's own __str__
        lines = [f"(its message cannot be made: {type(worse).__name__})"]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def printable(text: str) -> str:
    """The text with half surrogates, as file names may hold them, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def user_traceback(error: BaseException) -> str:
    """A traceback that begins where the user's code does; an error of dagrl's own that tells all needs no frames."""
    frame: TracebackType | None = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.tb_next
    if frame is None and not isinstance(error, DagrlError):
        frame = error.__traceback__
    return printable("".join(traceback.format_exception(type(error), error, frame)))
