"""Workloads for the simulator: read from files of several kinds, or generated after published tables.

Owns the way from outside to `dagrl.simulate.Workload`: what a file says, what chance adds for a seed, and what the
executors cost. Drives the simulator and measures what came of it; decides nothing that a scheduler decides.
"""

from dagrl.workload.outcome import Outcome, Yardstick, played
from dagrl.workload.scenario import Scenario, Source
from dagrl.workload.sources import open_sources

__all__ = ["Outcome", "Scenario", "Source", "Yardstick", "open_sources", "played"]
