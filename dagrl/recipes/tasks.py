"""Verifiable tasks: questions whose answers a function can score, with reasoning-gym's interface.

Owns four small generators that need no package, and the way to any other dataset with that interface. An entry
depends on the seed and its index alone, so every process that asks gets the same one. Never imports torch: rewards
are computed by workers that have no use for it.
"""

from __future__ import annotations

import importlib
import math
import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, TypedDict

from dagrl.errors import UsageError, did_you_mean

CONSONANTS = "bdfghklmnprstvwz"
VOWELS = "aeiou"
#: What a model of characters must be able to write when a dataset does not tell.
PRINTABLE = "".join(map(chr, range(32, 127))) + "\n"


class Entry(TypedDict):
    """One question with its answer; `metadata` holds what it was made from."""

    question: str
    answer: str
    metadata: dict[str, Any]


class Dataset(Protocol):
    """What reasoning-gym's datasets are: entries by index, and a judge of answers."""

    def __len__(self) -> int:
        """Number of entries; a sampler begins again after the last."""
        ...

    def __getitem__(self, index: int, /) -> Entry:
        """The entry of that index, always the same."""
        ...

    def score_answer(self, answer: str | None, entry: Entry) -> float:
        """From 0, wrong, to 1, right."""
        ...


class Generated:
    """A dataset made by rule. A subclass makes one entry from a random generator of the entry's own."""

    alphabet: ClassVar[str] = "0123456789="

    def __init__(self, seed: int, size: int = 1_000_000) -> None:
        self.seed = seed
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Entry:
        # A string seed goes through SHA-512: neighbouring seeds and indices share nothing.
        return self.make(random.Random(f"{self.seed}/{index}"))

    def make(self, rng: random.Random) -> Entry:
        """One entry."""
        raise NotImplementedError

    def score_answer(self, answer: str | None, entry: Entry) -> float:
        """1 for the answer itself; when it stands among other characters, its share of them; else 0."""
        given, expected = (answer or "").strip(), entry["answer"]
        if not given or expected not in given:
            return 0.0
        return len(expected) / len(given)


class Gcd(Generated):
    """Greatest common divisor of two numbers."""

    alphabet = "0123456789,="

    def __init__(self, seed: int, min_value: int = 1, max_value: int = 9) -> None:
        super().__init__(seed)
        self.min_value = min_value
        self.max_value = max_value

    def make(self, rng: random.Random) -> Entry:
        """Two numbers, each from `min_value` to `max_value`."""
        numbers = [rng.randint(self.min_value, self.max_value) for _ in range(2)]
        question = f"What is the greatest common divisor of {numbers[0]} and {numbers[1]}? Answer with the number only."
        return Entry(question=question, answer=str(math.gcd(*numbers)), metadata={"numbers": numbers})


class SpellBackward(Generated):
    """A word, to be written from its end to its beginning; letters in the right place earn part of the reward."""

    alphabet = "abcdefghijklmnopqrstuvwxyz>"

    def __init__(self, seed: int, letters: int = 3) -> None:
        super().__init__(seed)
        self.letters = letters

    def make(self, rng: random.Random) -> Entry:
        """A word that can be spoken: consonants and vowels take turns."""
        word = "".join(rng.choice(VOWELS if place % 2 else CONSONANTS) for place in range(self.letters))
        question = f"Spell the word '{word}' backward. Answer with the letters only."
        return Entry(question=question, answer=word[::-1], metadata={"word": word})

    def score_answer(self, answer: str | None, entry: Entry) -> float:
        """Share of letters that are right and in place; letters too many count as wrong."""
        given, expected = (answer or "").strip(), entry["answer"]
        right = sum(a == b for a, b in zip(given, expected, strict=False))
        return right / max(len(given), len(expected))


class Products(Generated):
    """The product of two numbers with at most that many digits."""

    alphabet = "0123456789*="

    def __init__(self, seed: int, digits: int = 1) -> None:
        super().__init__(seed)
        self.largest = 10**digits - 1

    def make(self, rng: random.Random) -> Entry:
        """Two factors, 0 among them."""
        a, b = rng.randint(0, self.largest), rng.randint(0, self.largest)
        return _sum_entry(f"{a} * {b}", a * b)


class ChainSum(Generated):
    """A sum of several numbers, each added or taken away."""

    alphabet = "0123456789+-="

    def __init__(self, seed: int, digits: int = 1, terms: int = 2) -> None:
        super().__init__(seed)
        self.largest = 10**digits - 1
        self.terms = terms

    def make(self, rng: random.Random) -> Entry:
        """`terms` numbers between random signs."""
        total = rng.randint(0, self.largest)
        expression = str(total)
        for _ in range(self.terms - 1):
            number, sign = rng.randint(0, self.largest), rng.choice((1, -1))
            total += sign * number
            expression += f" {'+' if sign > 0 else '-'} {number}"
        return _sum_entry(expression, total)


def _sum_entry(expression: str, value: int) -> Entry:
    question = f"What is {expression}? Answer with the number only."
    return Entry(question=question, answer=str(value), metadata={"expression": expression})


TASKS: Mapping[str, Callable[..., Generated]] = {
    "gcd": Gcd,
    "spell_backward": SpellBackward,
    "products": Products,
    "chain_sum": ChainSum,
}


def load_task(name: str, seed: int, params: Mapping[str, Any]) -> Dataset:
    """A task of ours, `reasoning_gym:NAME`, or `package.module:factory`, called with `seed` and `params`.

    Raises UsageError when there is no such task or it does not take these params.
    """
    make = _factory(name)
    try:
        return make(seed=seed, **params)
    except (TypeError, ValueError) as error:
        raise UsageError(f"task {name!r} cannot be made with {dict(params)}: {error}") from error


def _factory(name: str) -> Callable[..., Dataset]:
    module, separator, attribute = name.partition(":")
    if not separator:
        if name not in TASKS:
            raise UsageError(f"no task {name!r}{did_you_mean(name, TASKS)}; there are {', '.join(TASKS)}")
        return TASKS[name]
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        extra = "; install it with: pip install 'dagrl[reasoning]'" if module == "reasoning_gym" else ""
        raise UsageError(f"task {name!r}: {error}{extra}") from error
    if module == "reasoning_gym":
        return lambda seed, **params: imported.create_dataset(attribute, **{"size": 1_000_000, **params}, seed=seed)
    try:
        factory: Callable[..., Dataset] = getattr(imported, attribute)
    except AttributeError as error:
        raise UsageError(f"task {name!r}: {error}") from error
    return factory


def _joined(metadata: Mapping[str, Any]) -> str:
    return ",".join(map(str, metadata["numbers"])) + "="


def _expression(metadata: Mapping[str, Any]) -> str:
    return str(metadata["expression"]).replace(" ", "") + "="


def _word(metadata: Mapping[str, Any]) -> str:
    return f"{metadata['word']}>"


#: By task name and not by what the metadata hold: what is the question in one task is the answer in another.
COMPACT: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "gcd": _joined,
    "lcm": _joined,
    "spell_backward": _word,
    "products": _expression,
    "chain_sum": _expression,
}


def compact_prompt(task: str, entry: Entry) -> str:
    """The question in as few characters as a tiny model needs: `6,9=`, `cat>`, `3*7=`; else the question itself."""
    render = COMPACT.get(task.removeprefix("reasoning_gym:"))
    return render(entry["metadata"]) if render else entry["question"]


def alphabet_of(dataset: Dataset) -> str:
    """The characters of its compact prompts and answers."""
    alphabet: str = getattr(dataset, "alphabet", PRINTABLE)
    return alphabet
