"""Connects asyncio with pipes, and reads lines of any length."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

CHUNK_BYTES = 65_536
NO_PIPES = "An editor starts this command, with pipes as stdin and stdout, and not with files."


@dataclass(frozen=True, slots=True)
class Streams:
    """Holds the two streams to the editor, or to the agent."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def to_editor() -> Streams:
    """Returns stdin and stdout. Raises ValueError if one of them is a file."""
    try:
        return await connected(sys.stdin, sys.stdout)
    except ValueError as error:
        raise ValueError(NO_PIPES) from error


async def to_agent(command: Sequence[str]) -> tuple[asyncio.subprocess.Process, Streams]:
    """Starts the agent, and returns its process and streams. Raises OSError.

    The pipes do not belong to the process object, because its wait() would otherwise last until
    no process holds the pipes. A process that the agent left behind may hold them forever.
    """
    output, agent_output = os.pipe()
    agent_input, input = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=agent_input, stdout=agent_output
        )
    except BaseException:
        os.close(output)
        os.close(input)
        raise
    finally:
        os.close(agent_input)
        os.close(agent_output)
    return process, await connected(os.fdopen(output, "rb"), os.fdopen(input, "wb"))


async def lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yields each line with its line feed, and at last the rest."""
    begun: list[bytes] = []
    while chunk := await reader.read(CHUNK_BYTES):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield b"".join([*begun, end, b"\n"])
            begun = []
        if rest:
            begun.append(rest)
    if begun:
        yield b"".join(begun)


async def connected(source: IO[Any], target: IO[Any]) -> Streams:
    """Returns the streams of two pipes. Raises ValueError for a file."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), target
    )
    return Streams(reader, asyncio.StreamWriter(transport, protocol, None, loop))
