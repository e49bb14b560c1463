"""Verifiable tasks: what is asked, what is right, and where tasks come from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dagrl.errors import UsageError
from dagrl.recipes.tasks import TASKS, Entry, Gcd, SpellBackward, alphabet_of, compact_prompt, load_task


@pytest.mark.parametrize("name", TASKS)
def test_an_entry_depends_on_seed_and_index_alone(name: str) -> None:
    one, same, other = (load_task(name, seed, {}) for seed in (3, 3, 4))
    one[0]
    assert [one[index] for index in (5, 2, 5)] == [same[index] for index in (5, 2, 5)]
    assert [one[index] for index in range(20)] != [other[index] for index in range(20)]
    assert [one[index + 1] for index in range(20)] != [other[index] for index in range(20)]


@pytest.mark.parametrize("name", TASKS)
def test_the_right_answer_earns_all_and_none_earns_nothing(name: str) -> None:
    task = load_task(name, 0, {})
    for entry in (task[index] for index in range(50)):
        assert task.score_answer(entry["answer"], entry) == 1
        assert task.score_answer(f" {entry['answer']}\n", entry) == 1
        assert task.score_answer("", entry) == 0
        assert task.score_answer(None, entry) == 0


@pytest.mark.parametrize("name", TASKS)
def test_the_alphabet_has_every_character_of_prompts_and_answers(name: str) -> None:
    task = load_task(name, 0, {})
    written = "".join(compact_prompt(name, task[index]) + task[index]["answer"] for index in range(500))
    assert set(written) <= set(alphabet_of(task))


@pytest.mark.parametrize("name", TASKS)
def test_entries_are_json(name: str) -> None:
    entry = load_task(name, 0, {})[0]
    assert json.loads(json.dumps(entry)) == entry


def entry(answer: str, **metadata: Any) -> Entry:
    return Entry(question="?", answer=answer, metadata=metadata)


def test_a_number_among_others_earns_its_share() -> None:
    task = Gcd(0)
    assert task.score_answer("13", entry("3")) == 0.5
    assert task.score_answer("4", entry("3")) == 0


@pytest.mark.parametrize(
    ("given", "score"), [("tak", 1), ("tbk", 2 / 3), ("ta", 2 / 3), ("takt", 3 / 4), ("kat", 1 / 3)]
)
def test_letters_in_place_earn_their_share(given: str, score: float) -> None:
    assert SpellBackward(0).score_answer(given, entry("tak")) == pytest.approx(score)


def test_the_gcd_is_the_gcd() -> None:
    task = load_task("gcd", 1, {"min_value": 12, "max_value": 12})
    assert task[0]["answer"] == "12"
    assert compact_prompt("gcd", task[0]) == "12,12="


def test_a_chain_sum_adds_up() -> None:
    task = load_task("chain_sum", 1, {"terms": 4, "digits": 2})
    for each in (task[index] for index in range(20)):
        terms = each["metadata"]["expression"].replace("- ", "-").replace("+ ", "").split()
        assert sum(map(int, terms)) == int(each["answer"])


def test_words_have_as_many_letters_as_asked() -> None:
    word = load_task("spell_backward", 1, {"letters": 5})[0]["metadata"]["word"]
    assert len(word) == 5
    assert all((letter in "aeiou") == bool(place % 2) for place, letter in enumerate(word))


def test_what_is_the_answer_in_another_task_is_not_shown() -> None:
    countdown = entry("53*58", expression="53*58")
    assert compact_prompt("reasoning_gym:countdown", countdown) == "?"
    assert compact_prompt("reasoning_gym:products", countdown) == "53*58="


def test_an_unknown_task_is_told_with_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"no task 'gdc' \(did you mean 'gcd'\?\); there are gcd, spell_backward"):
        load_task("gdc", 0, {})


def test_params_that_a_task_does_not_take_are_told() -> None:
    with pytest.raises(UsageError, match=r"task 'gcd' cannot be made with .*'largest'"):
        load_task("gcd", 0, {"largest": 3})


def test_a_task_of_ones_own_is_named_by_module_and_factory() -> None:
    task = load_task("dagrl.recipes.tasks:Gcd", 5, {"max_value": 2})
    assert task[0] == Gcd(5, max_value=2)[0]


@pytest.mark.parametrize("name", ["no_such_module:f", "dagrl.recipes.tasks:nothing"])
def test_a_task_that_cannot_be_imported_is_told(name: str) -> None:
    with pytest.raises(UsageError, match=f"task '{name}': "):
        load_task(name, 0, {})


def test_a_missing_reasoning_gym_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(UsageError, match=r"pip install 'dagrl\[reasoning\]'"):
        load_task("reasoning_gym:gcd", 0, {})


def test_a_reasoning_gym_task_gets_seed_size_and_params(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_dataset(name: str, **params: Any) -> tuple[str, dict[str, Any]]:
        return name, params

    monkeypatch.setitem(sys.modules, "reasoning_gym", SimpleNamespace(create_dataset=create_dataset))
    made: Any = load_task("reasoning_gym:gcd", 9, {"max_value": 5})
    assert made == ("gcd", {"seed": 9, "size": 1_000_000, "max_value": 5})


def test_rewards_and_recipes_need_no_torch() -> None:
    program = """
import sys
from types import SimpleNamespace
from dagrl.recipes import grpo, ppo
assert grpo.RECIPE and ppo.RECIPE
entry = {"question": "?", "answer": "3", "metadata": {}}
step = SimpleNamespace(
    params={"group_size": 2},
    inputs={"sample": {"entries": [entry], "completions": ["3", "4"]}},
    metrics=SimpleNamespace(log=lambda values=None, **more: print(more)),
)
assert grpo.reward(step) == {"rewards": [1.0, 0.0]}
heavy = {"torch", "transformers", "numpy", "stable_baselines3", "gymnasium"} & set(sys.modules)
assert not heavy, heavy
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'reward': 0.5, 'solved': 0.5}"
