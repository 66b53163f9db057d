"""Runs the block of docs/adapters/pydantic-ai.md that is the first argument, with the names that
the page explains."""

import ast
import asyncio
import sys
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.client.adapters import stage


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse([ToolCallPart("refund", stage.CALLS[0]["arguments"])])


async def main() -> None:
    names: dict[str, Any] = {
        "endpoint": stage.CLIENT["endpoint"],
        "key": stage.CLIENT["key"],
        "model": FunctionModel(scripted),
        "on_end": None,
    }
    code = compile(sys.argv[1], "pydantic-ai.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, names)  # noqa: S307 - our own document


asyncio.run(main())
