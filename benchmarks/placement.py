"""What does placing jobs well save? Replays RollMux's production trace and prints a line per placement and seed.

    python benchmarks/placement.py --data FOLDER [--seeds 2345,1] [--placements list,rollmux] [--json] [--no-curve]

FOLDER holds `wild.trace` and `profile.json`. A seed draws each job's largest slowdown. `dedicated` and `co-located`
run every job alone and are charged nothing for sharing; `rollmux-free` is RollMux as its authors simulate it, where
switch and sync take no time; all other lines are charged both. `list-own-nodes` is dagrl's placement without sampling
on the trainer's nodes; `-wide` is with two trainer nodes for 32B jobs, where RollMux's simulator has one.
Then it prints how long placing one more job takes among 100 to 2,000 running ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from statistics import quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dagrl.placement.admission import Admission
from dagrl.placement.consolidated import ConsolidatedPlacement
from dagrl.placement.exclusive import ExclusivePlacement
from dagrl.placement.replay import bound, replay
from dagrl.placement.rollmux import RollmuxPlacement
from dagrl.placement.seating import Seating, SeatingRules
from dagrl.rollmux_trace import COLOCATED, DISAGGREGATED, NO_CHARGES, TraceOptions, fleet, make_job, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from dagrl.placement import Placement

#: How the trace is read for a placement, and what makes the placement.
CASES: dict[str, tuple[dict[str, Any], Callable[[], Placement]]] = {
    "dedicated": ({"charges": NO_CHARGES, "wide_train_nodes": 2}, ExclusivePlacement),
    "co-located": ({"charges": NO_CHARGES}, lambda: ExclusivePlacement(COLOCATED)),
    "rollmux-free": ({"charges": NO_CHARGES}, lambda: RollmuxPlacement(fleet())),
    "rollmux": ({}, lambda: RollmuxPlacement(fleet())),
    "rollmux-wide": ({"wide_train_nodes": 2}, lambda: RollmuxPlacement(fleet())),
    "list": ({}, lambda: ConsolidatedPlacement(fleet())),
    "list-own-nodes": ({"ways": (DISAGGREGATED,)}, lambda: ConsolidatedPlacement(fleet())),
    "list-wide": ({"wide_train_nodes": 2}, lambda: ConsolidatedPlacement(fleet())),
}
RUNNING = (100, 500, 1000, 2000)
PLACED = 40


def measure(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """One line of the table."""
    settings, make = CASES[name]
    options = replace(TraceOptions(seed=seed), **settings)
    history = read_trace(folder, options)
    began = perf_counter()
    outcome = replay(history, make(), fleet())
    least = bound(history, fleet())
    return {
        "placement": name,
        "seed": seed,
        **asdict(outcome),
        "bound_dollars_per_hour": least.rent,
        "bound_dollars_per_work_hour": least.work,
        "seconds": perf_counter() - began,
    }


def decision_times(folder: Path, running: int, seed: int) -> dict[str, Any]:
    """How long one admission takes among so many running jobs, mixed as in the trace."""
    profile = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    kinds = [line.split(", ")[3] for line in (folder / "wild.trace").read_text(encoding="utf-8").splitlines() if line]
    random = Random(seed)
    admission = Admission(Seating(fleet(), SeatingRules()))
    taken = []
    for number in range(running + PLACED):
        job = make_job(f"job{number}", random.choice(kinds), random.uniform(1.1, 2.0), profile, TraceOptions())
        began = perf_counter()
        admission.admit(job)
        taken.append(1000 * (perf_counter() - began))
    last = sorted(taken[running:])
    return {
        "running_jobs": running,
        "mean_milliseconds": sum(last) / len(last),
        "p95_milliseconds": quantiles(last, n=20)[-1],
        "max_milliseconds": last[-1],
        "groups": len(admission.groups),
    }


def main() -> None:
    """Measure what was asked for and print it line by line, or all of it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", default="2345,1")
    parser.add_argument("--placements", default=",".join(CASES))
    parser.add_argument("--no-curve", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows, reference = [], {}
    for seed in map(int, options.seeds.split(",")):
        reference = {name: measure(options.data, name, seed) for name in ("dedicated", "co-located")}
        for name in options.placements.split(","):
            row = reference.get(name) or measure(options.data, name, seed)
            row["times_dedicated"] = reference["dedicated"]["dollars_per_hour"] / row["dollars_per_hour"]
            row["times_co_located"] = reference["co-located"]["dollars_per_hour"] / row["dollars_per_hour"]
            rows.append(row)
            if not options.json:
                _print_row(row, first=len(rows) == 1)
    curve = [] if options.no_curve else [decision_times(options.data, running, 1) for running in RUNNING]
    if options.json:
        print(json.dumps({"placements": rows, "decisions": curve}))
        return
    for point in curve:
        print(*(f"{key}={_short(value)}" for key, value in point.items()))


COLUMNS = {
    "placement": "placement",
    "seed": "seed",
    "dollars_per_hour": "$/h",
    "times_dedicated": "x dedic.",
    "times_co_located": "x co-loc.",
    "dollars_per_work_hour": "$/work h",
    "mean_slowdown": "mean sl.",
    "max_slowdown": "max sl.",
    "attainment": "attained",
    "repacks": "repacks",
    "moves": "moves",
    "bound_dollars_per_hour": "bound $/h",
    "bound_dollars_per_work_hour": "bound work",
    "seconds": "took s",
}


def _print_row(row: dict[str, Any], *, first: bool) -> None:
    if first:
        print(*(f"{title:>{14 if key == 'placement' else 10}}" for key, title in COLUMNS.items()))
    print(*(f"{_short(row[key]):>{14 if key == 'placement' else 10}}" for key in COLUMNS), flush=True)


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if value >= 100 else f"{value:.4g}"
    return str(value)


if __name__ == "__main__":
    main()
