"""Does interleaving pay? Runs the demo's jobs interleaved and one after the other, in turn, and prints the ratio.

    python benchmarks/interleaving.py [--rounds 2] [--json]

Prints per round both makespans, their ratio, the lower bound for the measured durations, the share of busy time that
went into switching, how far `dagrl plan` would have been off for the second run, and whether the digests agree.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagrl.cli.demo import demo_specs
from dagrl.cli.load import load
from dagrl.cli.show import digests_of, read_timeline
from dagrl.estimates import Estimates
from dagrl.history import learn
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.runner import RunPlan, run_jobs
from dagrl.simulate import makespan, simulate


def measure(plan: RunPlan, directory: Path, earlier: list[Path]) -> dict[str, Any]:
    """One interleaved and one sequential run; `earlier` are runs that a plan may learn from."""
    known, _ = learn(plan.jobs, earlier)
    predicted = makespan(simulate(plan.jobs, plan.cluster, ListPolicy(), known)) if earlier else None
    interleaved = run_jobs(replace(plan, run_directory=directory / "list"), known=Estimates())
    sequential = run_jobs(replace(plan, policy="sequential", run_directory=directory / "sequential"))
    timeline, comparison = read_timeline(interleaved.directory)
    alone, _ = read_timeline(sequential.directory)
    return {
        "interleaved_seconds": timeline.makespan_seconds,
        "sequential_seconds": alone.makespan_seconds,
        "ratio": alone.makespan_seconds / timeline.makespan_seconds,
        "lower_bound_seconds": comparison.lower_bound_seconds,
        "binding_bound": comparison.binding_bound,
        "switching_share": timeline.switching_seconds / timeline.computing_seconds,
        "switches": sum(lane.switches for lane in timeline.lanes.values()),
        "predicted_seconds": predicted,
        "prediction_error": predicted / timeline.makespan_seconds - 1 if predicted else None,
        "same_bits": digests_of(interleaved.directory) == digests_of(sequential.directory),
        "ok": interleaved.ok and sequential.ok,
    }


def main() -> None:
    """Measure as often as asked and print a line per round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    specs = demo_specs()
    cluster = specs / "cluster.yaml"
    jobs, machine = load(sorted(path for path in specs.glob("*.yaml") if path != cluster), cluster)
    rounds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        earlier: list[Path] = []
        for number in range(options.rounds):
            directory = Path(scratch) / str(number)
            rounds.append(measure(RunPlan(jobs, machine), directory, earlier))
            earlier.insert(0, directory / "list")
            if not options.json:
                print(*(f"{key}={_short(value)}" for key, value in rounds[-1].items()), flush=True)
    if options.json:
        print(json.dumps(rounds))


def _short(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
