"""Calls tools with the official SDK for Python, generation 1, and prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str, key: str, calls: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        streamablehttp_client(url, headers=headers) as (reader, writer, _),
        ClientSession(reader, writer) as session,
    ):
        hello = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        results = []
        for name, arguments in json.loads(calls):
            result = await session.call_tool(name, arguments)
            text = result.content[0].text
            results.append([result.isError, result.structuredContent, text])
    seen = {"version": str(hello.protocolVersion), "tools": tools, "results": results}
    json.dump(seen, sys.stdout)


asyncio.run(main(*sys.argv[1:4]))
