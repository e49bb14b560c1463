"""The wire: messages arrive whole and in order with their descriptors, whatever pieces the socket delivers."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagrl.errors import UsageError
from dagrl_local import wire
from dagrl_local.blocks import SharedBlock
from dagrl_local.callables import load_callable
from dagrl_local.channel import Channel

bodies = st.lists(st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(max_size=99))), max_size=5)


@given(bodies, st.integers(1, 50))
def test_messages_are_put_together_from_pieces_of_any_size(sent: list[dict[str, Any]], size: int) -> None:
    data = b"".join(wire.encode(body) for body in sent)
    inbox = wire.Inbox()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [message.body for piece in pieces for message in inbox.feed(piece, [])] == sent


def test_a_block_travels_with_its_message(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    block = SharedBlock.create(8, tmp_path)
    block.memory[:] = b"shared!!"
    wire.send(ours, {"n": 1})
    wire.send(ours, {"n": 2}, [block.fd, block.fd])
    block.close()
    ours.close()
    first, second = wire.receive(theirs)
    theirs.close()
    assert (first.body, first.fds, second.body) == ({"n": 1}, (), {"n": 2})
    received = [SharedBlock(fd) for fd in second.fds]
    received[0].memory[:1] = b"S"
    assert bytes(received[1].memory) == b"Shared!!"
    for each in received:
        assert not os.get_inheritable(each.fd)
        each.close()


def test_a_block_needs_no_memory_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    block = SharedBlock.create(8, tmp_path / "swap")
    block.memory[:] = b"12345678"
    assert list((tmp_path / "swap").iterdir()) == []
    assert (tmp_path / "swap").stat().st_mode & 0o777 == 0o700
    block.close()


async def test_a_channel_sends_more_than_a_socket_holds_at_once() -> None:
    ours, theirs = socket.socketpair()
    got: asyncio.Queue[wire.Message] = asyncio.Queue()
    channel = Channel(ours, got.put_nowait)
    sent = [{"text": "x" * 3_000_000, "n": n} for n in range(3)]

    def answer() -> None:
        for message in wire.receive(theirs):
            wire.send(theirs, {"n": message.body["n"]})
            if message.body["n"] == 2:
                return

    other = threading.Thread(target=answer)
    other.start()
    await asyncio.gather(*(channel.send(body) for body in sent))
    assert [(await got.get()).body["n"] for _ in sent] == [0, 1, 2]
    other.join()
    theirs.close()
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="pipe"):
        await channel.send({})
    channel.close()


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "steps.py").write_text(f"def which(step): return {name!r}\n")
    found = [load_callable(f"{tmp_path / name}/steps.py:which", "a")(None) for name in ("a", "b", "a")]
    assert found == ["a", "b", "a"]
    mine, theirs = (load_callable(f"{tmp_path}/a/steps.py:which", job) for job in ("a", "b"))
    assert mine is not theirs
    assert load_callable("os.path:join", "a") is os.path.join
    with pytest.raises(UsageError, match=r"steps.py has no function 'what'"):
        load_callable(f"{tmp_path}/a/steps.py:what", "a")


def test_a_file_whose_import_failed_is_tried_again(tmp_path: Path) -> None:
    steps = tmp_path / "steps.py"
    steps.write_text("import no_such_module_anywhere\n")
    with pytest.raises(ModuleNotFoundError):
        load_callable(f"{steps}:f", "a")
    steps.write_text("def f(step): return 3  # and longer than before\n")
    assert load_callable(f"{steps}:f", "a")(None) == 3
