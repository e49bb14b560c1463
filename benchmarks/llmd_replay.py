"""A recorded llm-d run again: what the lock queue does, what the list policy does, and what a better switch would buy.

    python benchmarks/llmd_replay.py --data DIR [--json]

DIR holds `traces_sync.json`. Its phases are replayed with the recorded restores and checkpoints inside each hold. Then
follows what the real system could not do, each thing alone and all together: drop the sampler's state, let
initialisation and weight sync hold one pool at a time, restore beside another job's computing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dagrl.bounds import tightest
from dagrl.planner import refine
from dagrl.runner import find_policy
from dagrl.workload import played
from dagrl.workload.llmd import Terms, llmd
from dagrl.workload.reading import read_json

ROWS: tuple[tuple[str, str, Terms], ...] = (
    ("recorded swaps", "fifo", Terms()),
    ("zero swaps", "fifo", Terms(with_swaps=False)),
    ("recorded swaps, 3 s polling", "fifo", Terms(polling_seconds=3.0)),
    ("recorded swaps", "list", Terms()),
    ("zero swaps", "list", Terms(with_swaps=False)),
    ("sampler discarded", "list", Terms(discards_sampler=True)),
    ("one pool at a time", "list", Terms(one_pool_at_a_time=True)),
    ("restores prefetched", "list", Terms(prefetches=True)),
    ("sampler discarded, one pool at a time", "list", Terms(discards_sampler=True, one_pool_at_a_time=True)),
    ("all three", "list", Terms(discards_sampler=True, one_pool_at_a_time=True, prefetches=True)),
)


def measure(path: Path) -> list[dict[str, Any]]:
    """A row per policy and terms."""
    data = read_json(path.read_text(encoding="utf-8"), str(path))
    rows = []
    for name, policy, terms in ROWS:
        scenario = llmd(data, path.name, terms).at(0)
        makespan = played(scenario, refine(find_policy(policy), scenario.workload)).makespan_seconds
        bound = tightest(scenario.instance())
        rows.append(
            {"terms": name, "policy": policy, "makespan_seconds": makespan, "lower_bound_seconds": bound.seconds}
        )
    return rows


def main() -> None:
    """Replay and print a line per row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.data / "traces_sync.json")
    if options.json:
        print(json.dumps(rows))
        return
    recorded = next(row["makespan_seconds"] for row in rows if row["policy"] == "list")
    print(f"{'policy':7}{'terms':40}{'makespan s':>12}{'bound s':>10}{'ratio':>8}{'gain s':>9}")
    for row in rows:
        makespan, bound = row["makespan_seconds"], row["lower_bound_seconds"]
        gain = f"{recorded - makespan:9.1f}" if row["policy"] == "list" else ""
        print(f"{row['policy']:7}{row['terms']:40}{makespan:12.1f}{bound:10.1f}{makespan / bound:8.3f}{gain}")


if __name__ == "__main__":
    main()
