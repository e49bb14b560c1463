"""YAML 1.2 scalars, places, and every way in which a file cannot be read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagrl.spec.loader import MAX_BYTES, parse_document, read_document


def data_of(text: str) -> object:
    document = parse_document(text.encode(), "a.yaml")
    assert document.faults == []
    return document.data


def faults_of(content: str | bytes) -> list[str]:
    content = content.encode() if isinstance(content, str) else content
    return [str(fault) for fault in parse_document(content, "a.yaml").faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("5e4", 50000.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("1.0e+2", 100.0),
        ("012", 12),
        ("+3", 3),
        ("0o14", 12),
        ("0x1F", 31),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("on", "on"),
        ("no", "no"),
        ("y", "y"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2026-11-30", "2026-11-30"),
        ("10m", "10m"),
        ("=", "="),
        ("nan", "nan"),
        ("1e", "1e"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("|\n  12\n", "12\n"),
        ("-0b1", "-0b1"),
    ],
)
def test_a_scalar_means_what_yaml_1_2_says(text: str, value: object) -> None:
    data = data_of(f"key: {text}")

    assert data == {"key": value}
    assert type(data["key"]) is type(value)


def test_words_that_yaml_1_1_took_for_booleans_are_keys() -> None:
    assert data_of("on: push\nno: 1\ny: 2\n") == {"on": "push", "no": 1, "y": 2}


def test_an_anchor_can_be_used_again() -> None:
    assert data_of("a: &x {b: [1]}\nc: *x\n") == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert data_of("\ufeffa: 1\n") == {"a": 1}


def test_every_value_and_key_has_its_place_in_characters() -> None:
    places = parse_document("é: [1, ☃😀, {b: 2}]\n".encode(), "a.yaml").places

    assert str(places.at_value(("é", 2, "b"), "here")) == "a.yaml:1:16: é[2].b: here"
    assert str(places.at_key(("é", 2, "b"), "here")) == "a.yaml:1:13: é[2].b: here"
    assert str(places.at_value(("é", 2, "gone", 5), "near")) == "a.yaml:1:12: é[2].gone[5]: near"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["a.yaml:1:1: the file is empty"]),
        ("# only words\n", ["a.yaml:1:1: the file is empty"]),
        ("---\n...\n", ["a.yaml:1:1: the file is empty"]),
        ("a: 1\nb: 2\na: 3\n", ["a.yaml:3:1: a: the key stands twice, first on line 1"]),
        ("a: {b: 1, b: 2}\n", ["a.yaml:1:11: a.b: the key stands twice, first on line 1"]),
        ("a: !!int '5'\n", ["a.yaml:1:4: a: the tag 'tag:yaml.org,2002:int' is refused: a spec is plain data"]),
        ("a: !!str 5\n", ["a.yaml:1:4: a: the tag 'tag:yaml.org,2002:str' is refused: a spec is plain data"]),
        ("a: [!x 1]\n", ["a.yaml:1:5: a[0]: the tag '!x' is refused: a spec is plain data"]),
        (
            "!!python/object:os.x {}\n",
            ["a.yaml:1:1: the tag 'tag:yaml.org,2002:python/object:os.x' is refused: a spec is plain data"],
        ),
        ("!x k: 1\n", ["a.yaml:1:1: the tag '!x' is refused: a spec is plain data"]),
        ("a: {1: x}\n", ["a.yaml:1:5: a: a key must be text: write '1' in quotes"]),
        ("true: x\n", ["a.yaml:1:1: a key must be text: write 'true' in quotes"]),
        ("? [1, 2]\n: x\n", ["a.yaml:1:3: a key must be text, not a list or a mapping"]),
        (
            "b: &b {c: 1}\na:\n  <<: *b\n",
            ["a.yaml:3:3: a: merge keys (<<) are no part of YAML 1.2: write the keys out"],
        ),
        ("a: &x [1, *x]\n", ["a.yaml:1:4: a[1]: an alias of what it stands in"]),
        ("a: .nan\n", ["a.yaml:1:4: a: expected a finite number, got .nan"]),
        ("a: [1, -.inf]\n", ["a.yaml:1:8: a[1]: expected a finite number, got -.inf"]),
        ("a: 1e999\n", ["a.yaml:1:4: a: expected a finite number, got 1e999, which is too large"]),
        (f"a: {'9' * 5000}\n", ["a.yaml:1:4: a: a number of 5000 digits is too long"]),
        ('a: "x\\0y"\n', ["a.yaml:1:4: a: a NUL character cannot stand in a value"]),
        ('"x\\0": 1\n', ["a.yaml:1:1: a NUL character cannot stand in a key"]),
        ("a: 1\nb: x\0y\n", ["a.yaml:2:5: character U+0000 cannot stand in YAML"]),
        ("a: 1\n---\nb: 2\n", ["a.yaml:2:1: a second document starts here: a file holds one"]),
        ("a:\n\t- 1\n", ["a.yaml:2:1: not YAML: a tab cannot indent, use spaces"]),
        ("a: @x\n", ["a.yaml:1:4: not YAML: a value cannot start with '@', put it in quotes"]),
        ("a: b: c\n", ["a.yaml:1:5: not YAML: no key can stand here (indentation, or a ': ' that needs quotes?)"]),
        ("a: *b\n", ["a.yaml:1:4: not YAML: an alias without an anchor above it"]),
        (
            "a: [1\n",
            [
                "a.yaml:2:1: not YAML: did not find expected ',' or ']' while parsing a flow sequence that starts on line 1"
            ],
        ),
        (
            "[" * 5000,
            [
                "a.yaml:1:1001: not YAML: exceeded maximum nesting depth while increasing flow level that starts on line 1"
            ],
        ),
        ("%YAML 9.9\n---\na: 1\n", ["a.yaml:1:1: not YAML: found incompatible YAML document"]),
    ],
)
def test_what_is_not_plain_yaml_is_refused_at_its_place(text: str, faults: list[str]) -> None:
    assert faults_of(text) == faults


def test_all_faults_of_a_document_are_found() -> None:
    assert faults_of("a: !x 1\nb: .nan\n2: x\nc: {d: 1, d: 2}\n") == [
        "a.yaml:1:4: a: the tag '!x' is refused: a spec is plain data",
        "a.yaml:2:4: b: expected a finite number, got .nan",
        "a.yaml:3:1: a key must be text: write '2' in quotes",
        "a.yaml:4:11: c.d: the key stands twice, first on line 4",
    ]


def test_deep_nesting_is_refused_where_it_gets_too_deep() -> None:
    assert faults_of("[" * 70 + "]" * 70) == [f"a.yaml:1:65: {'[0]' * 64}: nested more than 64 levels deep"]


def test_an_alias_bomb_is_refused_at_once() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    began = time.process_time()

    faults = faults_of("\n".join(["a0: &a0 [lol, lol]", *levels]))

    assert faults == ["a.yaml:1:1: more than 50000 nodes once aliases are followed: that is refused"]
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a: 1\nb: caf\xe9\n", "a.yaml:2:7: not UTF-8: byte 0xe9; save the file as UTF-8"),
        ("a: 1\n".encode("utf-16"), "a.yaml:1:1: not UTF-8: byte 0xff; save the file as UTF-8"),
        (b"\xef\xbb\xbfa: \xff", "a.yaml:1:4: not UTF-8: byte 0xff; save the file as UTF-8"),
        (b"\x7fELF\x02\x01", "a.yaml:1:1: character U+007F cannot stand in YAML"),
    ],
)
def test_what_is_not_utf_8_text_is_refused(content: bytes, fault: str) -> None:
    assert faults_of(content) == [fault]


def test_a_file_that_cannot_be_read_is_a_fault_with_its_name(tmp_path: Path) -> None:
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    faults = {
        tmp_path: "is a directory: name the files in it",
        tmp_path / "gone.yaml": "no such file",
        tmp_path / "a\0b.yaml": "cannot be read: embedded null byte",
        loop: f"cannot be read: {os.strerror(40)}",
    }

    for path, reason in faults.items():
        assert [str(fault) for fault in read_document(path).faults] == [f"{path}: {reason}"]


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES * 1000)

    assert [str(fault) for fault in read_document(path).faults] == [f"{path}: is larger than 4 MiB"]


def test_an_odd_file_name_can_still_be_printed(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.yaml")

    assert str(read_document(path).faults[0]) == f"{tmp_path}/caf\\xe9.yaml: no such file"


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_a_document_or_printable_faults(content: bytes) -> None:
    document = parse_document(content, "a.yaml")

    assert all(str(fault).isprintable() for fault in document.faults)


@settings(deadline=None)
@given(st.text("-[]{}:,?!&*#|>'\"%@ \n\tab10.~<=", max_size=60))
def test_any_punctuation_gives_a_document_or_printable_faults(text: str) -> None:
    document = parse_document(text.encode(), "a.yaml")

    assert all(str(fault).isprintable() for fault in document.faults)
