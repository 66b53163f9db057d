"""Starts the agent, and passes lines on between the editor and the agent. The editor's answer to a
request that Wake has answered is not passed on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

from wake_client.acp import messages, streams
from wake_client.acp.messages import Message
from wake_client.acp.permissions import Permissions
from wake_client.acp.streams import Streams, lines
from wake_client.async_client import AsyncWakeClient
from wake_client.shell.output import say

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# The agent's last lines are read for so many seconds after its end.
SECONDS_TO_READ_REST = 2.0
GONE = "The editor has gone."
UNREAD = "Wake could not read a message between the editor and the agent."


async def run(
    command: Sequence[str], client: AsyncWakeClient, *, deadline: int, editor: Streams
) -> int:
    """Runs the agent until it ends, and returns its exit status. Raises OSError if the agent cannot
    be started."""
    process, agent = await streams.to_agent(command)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, process.send_signal, number)
    permissions = Permissions(
        client, deadline=deadline, to_agent=agent.writer.write, to_editor=editor.writer.write
    )
    to_agent = asyncio.create_task(_pass_to_agent(editor, agent, permissions))
    to_editor = asyncio.create_task(_pass_to_editor(agent, editor, permissions, process))
    status = await process.wait()
    for number in SIGNALS:
        loop.remove_signal_handler(number)
    await _read_rest(to_editor, editor)
    to_agent.cancel()
    to_editor.cancel()
    await asyncio.gather(to_agent, to_editor, return_exceptions=True)
    await permissions.close()
    editor.writer.close()
    with suppress(ConnectionError):
        await editor.writer.wait_closed()
    return status if status >= 0 else 128 - status


async def _read_rest(to_editor: asyncio.Task[None], editor: Streams) -> None:
    """Waits for the agent's last lines, and for a slow editor to read them."""
    is_slow = True
    while is_slow and not to_editor.done():
        await asyncio.wait({to_editor}, timeout=SECONDS_TO_READ_REST)
        is_slow = editor.writer.transport.get_write_buffer_size() > 0


async def _pass_to_agent(editor: Streams, agent: Streams, permissions: Permissions) -> None:
    with suppress(ConnectionError):  # the agent has ended
        async for line in lines(editor.reader):
            if _read(line, "editor", permissions.read_from_editor, permissions):
                agent.writer.write(line)
                await agent.writer.drain()
    permissions.end_all(GONE)
    agent.writer.close()


async def _pass_to_editor(
    agent: Streams,
    editor: Streams,
    permissions: Permissions,
    process: asyncio.subprocess.Process,
) -> None:
    try:
        async for line in lines(agent.reader):
            editor.writer.write(line)
            _read(line, "agent", permissions.read_from_agent, permissions)
            await editor.writer.drain()
    except ConnectionError:  # the editor has gone
        with suppress(ProcessLookupError):
            process.terminate()


def _read(
    line: bytes, sender: str, read: Callable[[Message], bool], permissions: Permissions
) -> bool:
    """Returns whether a line is for the other side. A line that Wake cannot read is passed on, too.
    It may answer or change an open request, so only the editor asks about these from now on."""
    try:
        message = messages.message_of(line)
        return message is None or read(message)
    except (messages.Unread, RecursionError) as error:
        say(f"wake acp: Wake does not read a line of the {sender}: {error}")
        permissions.end_all(UNREAD)
        return True
