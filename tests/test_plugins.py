from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from dagrl.plugins import _declared, plugins

GROUPS = ("dagrl.executors", "dagrl.policies", "dagrl.recipes")


@pytest.mark.parametrize("group", GROUPS)
def test_a_checkout_finds_its_own_plugins_without_being_installed(group: str) -> None:
    assert {"local", "list", "grpo"} & set(_declared(group))


@pytest.mark.parametrize("group", GROUPS)
def test_installed_and_declared_plugins_are_the_same(group: str) -> None:
    declared = _declared(group)
    for entry in entry_points(group=group):
        if entry.name in declared and entry.module.startswith("dagrl"):
            assert entry.value == declared[entry.name].value


@pytest.mark.parametrize("name", ["list", "fifo", "sequential"])
def test_every_policy_loads(name: str) -> None:
    assert plugins("dagrl.policies")[name].load().__module__.startswith("dagrl.policy.")


def test_a_group_that_nobody_declares_is_empty() -> None:
    assert plugins("dagrl.nothing") == {}
