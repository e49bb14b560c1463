"""Settings out of a job's params: mistakes are told, strangers are left alone."""

from __future__ import annotations

import pytest

from dagrl.errors import UsageError
from dagrl.recipes.grpo.settings import GrpoSettings
from dagrl.recipes.ppo.settings import PpoSettings
from dagrl.recipes.settings import read_settings


def test_defaults_stand_where_params_say_nothing() -> None:
    assert read_settings(GrpoSettings, {"group_size": 4}) == GrpoSettings(group_size=4)


def test_a_whole_number_is_a_number() -> None:
    assert read_settings(GrpoSettings, {"kl_coef": 1}).kl_coef == 1.0


def test_a_slip_of_the_fingers_is_told() -> None:
    with pytest.raises(UsageError, match=r"^params.learning_rte: unknown \(did you mean 'learning_rate'\?\)$"):
        read_settings(PpoSettings, {"learning_rte": 1e-3})


def test_params_for_steps_of_ones_own_are_left_alone() -> None:
    params = {"reward_model": "x", "my_threshold": 3, "horizon": 12}
    assert read_settings(GrpoSettings, params) == GrpoSettings()


def test_every_wrong_value_has_a_line() -> None:
    with pytest.raises(UsageError) as caught:
        read_settings(GrpoSettings, {"group_size": 1, "learning_rate": "fast", "task": 3})
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["params.task", "params.group_size", "params.learning_rate"]


@pytest.mark.parametrize("value", [True, 2.5, "8"])
def test_types_are_strict(value: object) -> None:
    with pytest.raises(UsageError, match=r"params\.group_size"):
        read_settings(GrpoSettings, {"group_size": value})
