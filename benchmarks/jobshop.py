"""How far from the best known schedule? Classic job-shop instances, one operation a task, no switches.

    python benchmarks/jobshop.py --data DIR [--policy list,fifo] [--json]

DIR holds instances of the ScheduleOpt collection and `best_known.json`. Prints per instance the best known makespan,
dagrl's lower bound, and each policy's gap to the best known; `list` searches in the background first,
`list-unplanned` does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

from dispatch import policies

from dagrl.bounds import tightest
from dagrl.workload import open_sources, played


def measure(directory: Path, names: str) -> list[dict[str, Any]]:
    """A row per instance: name, best known, bound, and the makespan of each policy."""
    best_known = json.loads((directory / "best_known.json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = []
    for path in sorted(directory.glob("*.json")):
        if path.stem not in best_known:
            continue
        scenario = open_sources([str(path)])[0].at(0)
        makespans = {name: played(scenario, make(scenario)).makespan_seconds for name, make in policies(names).items()}
        bound = tightest(scenario.instance()).seconds
        rows.append({"instance": path.stem, "best": best_known[path.stem][1], "bound": bound, "makespans": makespans})
    return rows


def main() -> None:
    """Measure and print a line per instance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--policy", default="", help="names with commas between")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.data, options.policy)
    if not rows:
        sys.exit(f"no instances in {options.data}")
    if options.json:
        print(json.dumps(rows))
        return
    names = list(rows[0]["makespans"])
    print(f"{'instance':10}{'best':>6}{'bound':>7}", *(f"{name:>15}" for name in names))
    for row in rows:
        gaps = [f"{100 * (row['makespans'][name] / row['best'] - 1):14.1f}%" for name in names]
        print(f"{row['instance']:10}{row['best']:6}{row['bound']:7.0f}", *gaps)
    means = [fmean(100 * (row["makespans"][name] / row["best"] - 1) for row in rows) for name in names]
    print(f"{'mean':23}", *(f"{mean:14.1f}%" for mean in means))


if __name__ == "__main__":
    main()
