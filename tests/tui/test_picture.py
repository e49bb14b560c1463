from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from dagrl.timeline import Comparison, Timeline
from dagrl_tui.marks import marks
from dagrl_tui.picture import svg, write_svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(picture).iter(f"{NAMESPACE}text")]  # noqa: S314 - our own


def bars(picture: str, colour: str) -> list[ET.Element]:
    return [rect for rect in ET.fromstring(picture).iter(f"{NAMESPACE}rect") if rect.get("fill") == colour]  # noqa: S314


def test_the_picture_names_executors_jobs_and_the_gain(complete: Timeline) -> None:
    said = texts(svg(complete, Comparison(85.0, 40.0, "pool rollout")))
    assert said[:2] == [
        "2 jobs on 3 executors in 42.5 s",
        "2.00x shorter than one job after the other (estimated 1m 25s)",
    ]
    assert {"rollout0", "train0", "cpu0", "gcd", "spell", "sample", "train"} <= set(said)
    assert any(text.startswith("gcd: reward 0.00 → 0.90") for text in said)
    assert any("5 switches and 10 saves" in text for text in said)


def test_every_bar_lies_on_its_track(timeline: Timeline) -> None:
    for mark in marks(timeline.jobs).values():
        for bar in bars(svg(timeline), mark.colour):
            left, width = float(bar.attrib["x"]), float(bar.attrib["width"])
            assert left >= 0
            assert left + width <= 901


def test_failed_spans_stand_out(timeline: Timeline) -> None:
    assert 'class="failed"' in svg(timeline)


def test_names_are_escaped(timeline: Timeline) -> None:
    timeline.lane("a<b>&c")
    assert "a<b>&c" in texts(svg(timeline))


def test_a_run_that_did_nothing_has_a_picture_too() -> None:
    assert "0 jobs on 1 executors in 0.00 s" in texts(svg(Timeline(["rollout0"])))


def test_spans_narrower_than_a_pixel_are_drawn_together(timeline: Timeline) -> None:
    """A hundred times longer axis: the picture must not grow with what nobody can see."""
    alone = len(bars(svg(timeline), marks(timeline.jobs)["gcd"].colour))
    train = timeline.lanes["train0"].spans[-1]
    for index in range(500):
        moment = train.end + index / 1000
        timeline.lanes["train0"].append(type(train)(train.kind, moment, moment + 0.0005, "gcd", train.task))
    assert len(bars(svg(timeline), marks(timeline.jobs)["gcd"].colour)) < alone + 40


def test_the_picture_is_written_as_a_file(timeline: Timeline, tmp_path: Path) -> None:
    write_svg(timeline, tmp_path / "timeline.svg")
    assert (tmp_path / "timeline.svg").read_text(encoding="utf-8") == svg(timeline)
