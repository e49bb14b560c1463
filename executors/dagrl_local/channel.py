"""The supervisor's end of a worker's socket, on the event loop: `wire` without waiting for anybody."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

from dagrl_local.wire import Inbox, Message, encode, receive_some, send_some


class Channel:
    """The supervisor's end of a worker's socket, on the running event loop."""

    def __init__(self, connection: socket.socket, on_message: Callable[[Message], None]) -> None:
        connection.setblocking(False)  # noqa: FBT003
        self._connection = connection
        self._on_message = on_message
        self._inbox = Inbox()
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._loop.add_reader(connection, self.drain)

    async def send(self, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send one message. Raises OSError if the worker is gone."""
        data = encode(body, len(fds))
        async with self._turn:
            while True:
                try:
                    sent = send_some(self._connection, data, fds)
                except BlockingIOError:
                    await self._writable()
                else:
                    break
            if sent < len(data):
                await self._loop.sock_sendall(self._connection, data[sent:])

    def drain(self) -> None:
        """Hand on everything that has arrived."""
        while True:
            try:
                data, fds = receive_some(self._connection)
            except BlockingIOError:
                return
            except OSError:
                data, fds = b"", []
            if not data:
                self._loop.remove_reader(self._connection)
                return
            for message in self._inbox.feed(data, fds):
                self._on_message(message)

    def close(self) -> None:
        """Close the socket, which tells the worker to go."""
        self._loop.remove_reader(self._connection)
        self._connection.close()
        self._inbox.close()

    async def _writable(self) -> None:
        ready = self._loop.create_future()
        self._loop.add_writer(self._connection, ready.set_result, None)
        try:
            await ready
        finally:
            self._loop.remove_writer(self._connection)
