"""Finds a policy by its name: entry points of `dagrl.policies`, our own registered like anybody's."""

from __future__ import annotations

from importlib.metadata import entry_points

from dagrl.errors import UsageError, did_you_mean
from dagrl.policy import Policy


def policy_names() -> list[str]:
    """The names of all installed policies."""
    return sorted(entry.name for entry in entry_points(group="dagrl.policies"))


def find_policy(name: str) -> Policy:
    """The installed policy of that name. Raises UsageError naming those there are."""
    for entry in entry_points(group="dagrl.policies"):
        if entry.name == name:
            policy: Policy = entry.load()()
            return policy
    known = policy_names()
    raise UsageError(f"no policy {name!r} is installed{did_you_mean(name, known)}; installed: {', '.join(known)}")
