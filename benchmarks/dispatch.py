"""How good is each policy's dispatch? Makespan over lower bound on the published distributions.

    python benchmarks/dispatch.py [--seeds 12] [--policy list,fifo] [--tails] [--json]

Plays RollMux's Table 6 mix (6 jobs of 8 iterations on average, cv 0.15) in two layouts with cheap and with 10 to 20 s
switches, and prints mean and worst ratio per policy; `list` is planned first, `list-unplanned` is not. `--tails` draws
every duration from a lognormal distribution with sigma 0.8 instead, and prints mean and 95th percentile of the
makespan, as a multiple of that of `list`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean, quantiles

from dagrl.bounds import tightest
from dagrl.model import Job
from dagrl.planner import refine
from dagrl.plugins import plugins
from dagrl.policy import Policy
from dagrl.policy.list_scheduling import ListPolicy
from dagrl.runner import find_policy
from dagrl.workload import Scenario, played
from dagrl.workload.draws import Draw, Lognormal
from dagrl.workload.table6 import PREFIX, table6

CASES = ("pools-warm", "pools-medium", "shared-warm", "shared-medium")
UNPLANNED = "list-unplanned"
#: Of the heavy tails.
SIGMA = 0.8

Make = Callable[[Scenario], Policy]


def policies(names: str) -> Mapping[str, Make]:
    """How to get each policy for a scenario."""
    installed: dict[str, Make] = {name: _planned(name) for name in sorted(plugins("dagrl.policies"))}
    installed[UNPLANNED] = lambda _: ListPolicy()
    wanted = names.split(",") if names else [name for name in installed if name not in {"exclusive", "sequential"}]
    return {name: installed[name] for name in wanted}


def _planned(name: str) -> Make:
    return lambda scenario: refine(find_policy(name), scenario.workload)


def with_tails(scenario: Scenario, seed: int) -> Scenario:
    """The same jobs with durations of the same mean and a heavy tail."""

    def durations(job: Job) -> dict[tuple[str, str], Lognormal]:
        shape = Lognormal(1.0, SIGMA)
        return {
            (job.name, step.name): Lognormal((step.expected_seconds or 0.0) / shape.mean_seconds, SIGMA)
            for step in job.steps
        }

    drawn = {key: found for job in scenario.workload.jobs for key, found in durations(job).items()}
    return replace(scenario, workload=replace(scenario.workload, draw=Draw(seed, drawn)))


def ratios(case: str, makes: Mapping[str, Make], seeds: int) -> dict[str, list[float]]:
    """Per policy, makespan over lower bound of each seed."""
    found: dict[str, list[float]] = {name: [] for name in makes}
    for seed in range(seeds):
        scenario = table6(PREFIX + case).at(seed)
        bound = tightest(scenario.instance()).seconds
        for name, make in makes.items():
            found[name].append(played(scenario, make(scenario)).makespan_seconds / bound)
    return found


def tails(case: str, makes: Mapping[str, Make], seeds: int) -> dict[str, list[float]]:
    """Per policy, the makespan of each seed with heavy tails."""
    found: dict[str, list[float]] = {name: [] for name in makes}
    for seed in range(seeds):
        scenario = with_tails(table6(PREFIX + case).at(seed), seed)
        for name, make in makes.items():
            found[name].append(played(scenario, make(scenario)).makespan_seconds)
    return found


def main() -> None:
    """Measure and print a line per policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--policy", default="", help="names with commas between")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    makes = policies(options.policy)
    measure = tails if options.tails else ratios
    results = {case: measure(case, makes, options.seeds) for case in CASES}
    if options.json:
        print(json.dumps(results))
        return
    print(f"{'policy':16}", *(f"{case:>16}" for case in CASES))
    for name in makes:
        print(f"{name:16}", *(f"{_cell(results[case], name, is_tails=options.tails):>16}" for case in CASES))


def _cell(found: dict[str, list[float]], name: str, *, is_tails: bool) -> str:
    if not is_tails:
        return f"{fmean(found[name]):.3f} ({max(found[name]):.3f})"
    yardstick = found.get("list", found[name])
    return f"{fmean(found[name]) / fmean(yardstick):.3f} ({_p95(found[name]) / _p95(yardstick):.3f})"


def _p95(values: list[float]) -> float:
    return float(quantiles(values, n=20)[-1] if len(values) > 1 else values[0])


if __name__ == "__main__":
    main()
