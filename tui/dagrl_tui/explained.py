"""An explanation of a task as sentences, a line for each."""

from __future__ import annotations

from collections.abc import Iterable

from dagrl.explain import Attempt, Explanation
from dagrl_tui.units import duration

_MOST_SPANS = 5


def sentences(found: Explanation) -> Iterable[str]:
    """What is known of a task, in the order in which it happened."""
    yield from _readiness(found)
    if found.home is not None:
        yield f"its context is at home on {found.home}, so it can run nowhere else"
    else:
        yield f"any executor of pool {found.pool!r} can run it"
    start = found.attempts[0].started if found.attempts else None
    if found.ready_at is not None and start is not None:
        yield f"it waited {duration(start - found.ready_at)} from then to its start"
    for span in found.meanwhile[:_MOST_SPANS]:
        subject = span.task or span.context
        yield f"  meanwhile {found_executor(found)}: {span.kind} {subject} for {duration(span.seconds)}"
    for attempt in found.attempts:
        yield from _attempt(attempt)
    if found.job_ended:
        yield f"it never ran: its job {found.job_ended}"
    elif not found.attempts:
        yield "it has not started"


def found_executor(found: Explanation) -> str:
    """Where it ran, or would."""
    return found.attempts[0].executor if found.attempts else found.home or found.pool


def _readiness(found: Explanation) -> Iterable[str]:
    missing = [str(task) for task, at in found.waits_for if at is None]
    if missing:
        yield f"{found.task} waits for {', '.join(missing)}"
    elif found.waits_for and found.ready_at is not None:
        last = max(found.waits_for, key=lambda entry: entry[1] or 0.0)[0]
        yield f"{found.task} became ready at {found.ready_at:.3f} s, when {last} was done, the last it waited for"
    elif found.ready_at is not None:
        yield f"{found.task} waited for nothing and was ready at {found.ready_at:.3f} s"


def _attempt(attempt: Attempt) -> Iterable[str]:
    before = f", after {', '.join(attempt.before)}" if attempt.before else ""
    yield f"attempt {attempt.number} was given to {attempt.executor} at {attempt.decided_at:.3f} s{before}"
    if attempt.started is not None and attempt.finished is not None:
        ended = f"failed: {attempt.error}" if attempt.error else "done"
        yield f"  from {attempt.started:.3f} s to {attempt.finished:.3f} s: {ended}"
