from __future__ import annotations

from itertools import pairwise

from dagrl_tui.marks import marks


def test_a_job_is_marked_by_the_first_letter_of_its_name_that_is_free() -> None:
    assert [mark.letter for mark in marks(["gcd", "spell", "score", "gg"]).values()] == ["G", "S", "C", "A"]


def test_jobs_named_alike_still_differ() -> None:
    letters = [mark.letter for mark in marks([f"gcd-seed{i}" for i in range(36)]).values()]
    assert len(set(letters)) == 36


def test_more_jobs_than_letters_share_one() -> None:
    assert list(marks(str(i) for i in range(40)).values())[-1].letter == "?"


def test_neighbouring_jobs_never_share_a_colour() -> None:
    colours = [mark.colour for mark in marks(str(i) for i in range(20)).values()]
    assert all(one != other for one, other in pairwise(colours))
