"""Runs the block of docs/adapters/openai-agents.md that is the first argument, with the names that
the page explains."""

import ast
import asyncio
import sys
from typing import Any

from agents import set_tracing_disabled
from caller import Scripted

from tests.client.adapters import stage


async def main() -> None:
    set_tracing_disabled(disabled=True)
    names: dict[str, Any] = {
        "endpoint": stage.CLIENT["endpoint"],
        "key": stage.CLIENT["key"],
        "model": Scripted("refund", stage.CALLS),
        "on_end": None,
    }
    code = compile(sys.argv[1], "openai-agents.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, names)  # noqa: S307 - our own document


asyncio.run(main())
