"""Messages between the supervisor and a worker: a length, JSON, and file descriptors beside it.

Owns the framing on a Unix socket and nothing of what the messages say. Descriptors are handed over with the message
itself, because a worker may be gone by the time its message is read. No pickle: a worker cannot make the supervisor
run anything.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_LENGTH = struct.Struct("!I")
_CHUNK_BYTES = 1 << 18
_FDS_AT_ONCE = 16
_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Message:
    """A JSON object, and the descriptors that came with it, which belong to whoever received them."""

    body: dict[str, Any]
    fds: tuple[int, ...] = ()


def encode(body: dict[str, Any], fds: int = 0) -> bytes:
    """A message as bytes; `fds` is how many descriptors go with it."""
    text = json.dumps([fds, body], separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


class Inbox:
    """Puts messages together from what a socket delivers."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._fds: deque[int] = deque()

    def feed(self, data: bytes, fds: Iterable[int]) -> Iterator[Message]:
        """The messages that are complete now."""
        self._bytes += data
        self._fds.extend(fds)
        while len(self._bytes) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._bytes)
            end = _LENGTH.size + length
            if len(self._bytes) < end:
                return
            count, body = json.loads(self._bytes[_LENGTH.size : end])
            del self._bytes[:end]
            yield Message(body, tuple(self._fds.popleft() for _ in range(count)))

    def close(self) -> None:
        """Close descriptors whose message never became complete."""
        while self._fds:
            os.close(self._fds.popleft())


def send(connection: socket.socket, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
    """Send one message on a blocking socket; the descriptors stay the caller's."""
    data = encode(body, len(fds))
    sent = send_some(connection, data, fds)
    connection.sendall(data[sent:])


def receive(connection: socket.socket) -> Iterator[Message]:
    """Messages from a blocking socket, until the other side is gone."""
    inbox = Inbox()
    while True:
        try:
            data, fds = receive_some(connection)
        except OSError:
            data, fds = b"", []
        if not data:
            inbox.close()
            return
        yield from inbox.feed(data, fds)


def send_some(connection: socket.socket, data: bytes, fds: Sequence[int]) -> int:
    """One system call's worth of sending; descriptors go with the first byte. Returns how many bytes went."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    return connection.sendmsg([data], ancillary)


def receive_some(connection: socket.socket) -> tuple[bytes, list[int]]:
    """One system call's worth of receiving; no bytes when the other side is gone."""
    data, fds, _, _ = socket.recv_fds(connection, _CHUNK_BYTES, _FDS_AT_ONCE, _FLAGS)
    for fd in fds:
        os.set_inheritable(fd, False)  # noqa: FBT003
    return data, fds
