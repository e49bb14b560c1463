"""`dagrl simulate`: workloads played under several policies, as a table for people or as JSON.

Owns which policies are played and how their figures are laid out; the figures themselves are `dagrl.workload`'s.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dagrl.errors import InvariantError
from dagrl.plugins import plugins
from dagrl.runner import find_policy
from dagrl.timeline import Timeline
from dagrl.workload import Outcome, Source, Yardstick
from dagrl_tui.units import duration, number

_COLUMNS = ("policy", "makespan", "ratio", "slowdown", "worst", "switches", "switching", "$/h", "$/work-h")
_LEGEND = """\
ratio: makespan over the bound. slowdown: a job's time over its time alone.
$/h: rent of all executors. $/work-h: rent for the makespan over the hours that
the work of all jobs takes alone.
"""


def compare_policies(
    sources: Sequence[Source], policies: Sequence[str], seeds: int, svg: Path | None, *, as_json: bool
) -> None:
    """Play every workload under every policy, all that are installed unless some are named, and print the figures.

    A policy that was not named and cannot finish a workload is left out, which stderr tells. Raises UsageError for a
    policy that is not installed, InvariantError for a named one that leaves jobs unfinished.
    """
    for name in policies:
        find_policy(name)
    everything: list[Outcome] = []
    last: Timeline | None = None
    for source in sources:
        yardsticks = [Yardstick.of(source.at(seed), seed) for seed in range(seeds)]
        outcomes: list[Outcome] = []
        for name in policies or sorted(plugins("dagrl.policies")):
            found = _measured(name, yardsticks, is_named=bool(policies))
            outcomes += [outcome for outcome, _ in found]
            last = found[-1][1] if found else last
        if not as_json:
            _print(source, yardsticks, outcomes)
        everything += outcomes
    if as_json:
        print(json.dumps([outcome.to_json() for outcome in everything]))
    if svg is not None and last is not None:
        from dagrl_tui.picture import write_svg

        write_svg(last, svg)


def _measured(name: str, yardsticks: Sequence[Yardstick], *, is_named: bool) -> list[tuple[Outcome, Timeline]]:
    try:
        return [yardstick.measure(name, find_policy(name)) for yardstick in yardsticks]
    except InvariantError as error:
        if is_named:
            raise
        print(f"{name} is left out: {error}", file=sys.stderr)
        return []


def _print(source: Source, yardsticks: Sequence[Yardstick], outcomes: Sequence[Outcome]) -> None:
    console = Console()
    workload = yardsticks[0].scenario.workload
    seeds = f", mean of {len(yardsticks)} seeds" if len(yardsticks) > 1 else ""
    jobs, executors = len(workload.jobs), len(workload.cluster.executors)
    console.print(f"{source.name}: {jobs} jobs on {executors} executors{seeds}", style="bold", highlight=False)
    bound = fmean(yardstick.bound.seconds for yardstick in yardsticks)
    binding = Counter(yardstick.bound.binding for yardstick in yardsticks)
    what = ", ".join(f"{each} ({count} seeds)" if len(binding) > 1 else each for each, count in binding.most_common())
    console.print(f"no schedule ends before {duration(bound)}; set by {what}", highlight=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0, header_style="dim", show_edge=False)
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "policy" else "right", no_wrap=True)
    for name in dict.fromkeys(outcome.policy for outcome in outcomes):
        table.add_row(name, *_row([outcome for outcome in outcomes if outcome.policy == name]))
    console.print(table)
    for note in source.notes:
        console.print(note, highlight=False, style="dim")
    console.print(_LEGEND, highlight=False, style="dim")


def _row(outcomes: Sequence[Outcome]) -> list[str]:
    def mean(of: Callable[[Outcome], float | None], shown: Callable[[float], str]) -> str:
        values = [value for outcome in outcomes if (value := of(outcome)) is not None]
        return shown(fmean(values)) if values else "-"

    return [
        mean(lambda outcome: outcome.makespan_seconds, duration),
        mean(lambda outcome: outcome.ratio, lambda value: f"{value:.3f}"),
        mean(lambda outcome: outcome.mean_slowdown, number),
        mean(lambda outcome: outcome.max_slowdown, number),
        mean(lambda outcome: outcome.switches, lambda value: f"{value:.0f}"),
        mean(lambda outcome: outcome.switch_seconds, duration),
        mean(lambda outcome: outcome.dollars_per_hour, number),
        mean(lambda outcome: outcome.dollars_per_work_hour, number),
    ]
