"""Makes calls that fail, with the official SDK for Python, generation 1. After each of them it
calls a tool, to see that the session is still there. Prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    seen = []
    async with (
        streamablehttp_client(url, headers=headers) as (reader, writer, _),
        ClientSession(reader, writer) as session,
    ):
        await session.initialize()
        for call in (
            lambda: session.call_tool("nosuch", {}),
            lambda: session.list_prompts(),
            lambda: session.list_resources(),
            lambda: session.call_tool("check", {"delivery_id": "\0"}),
            lambda: session.call_tool("check", {"delivery": 7}),
        ):
            try:
                result = await call()
                failure = [0, result.content[0].text]
            except McpError as error:
                failure = [error.error.code, error.error.message]
            lives = await session.call_tool("answers", {})
            seen.append([*failure, lives.isError])
    json.dump(seen, sys.stdout)


asyncio.run(main(*sys.argv[1:3]))
