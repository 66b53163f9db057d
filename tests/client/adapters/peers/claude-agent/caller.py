"""Runs a session of the Claude Agent SDK, with the Claude Code of the package and a scripted model
that calls the tool `refund`, one step in each process.

The first argument is the step: `start` runs the session to its pause and asks people, and `resume`
resumes every answered session.
"""

import asyncio
import json
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

from client.examples.scripted_claude import called, said, serve, text_of
from tests.client.adapters import stage
from wake_client.adapters import AsyncApprovals
from wake_client.adapters.claude_agent import FRAMEWORK, ClaudeSessions

TOOL = "mcp__shop__refund"
DENIED = f"PreToolUse:{TOOL} hook error: "
SCHEMA = {"order": str, "cents": int}


@tool("refund", "Refunds an order.", SCHEMA)
async def refund(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [said(stage.refund(**arguments))]}


def scripted(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not results:
        return [called(TOOL, call["id"], call["arguments"]) for call in stage.CALLS]
    stage.die("model")
    for result in results:
        stage.say(told=text_of(result).removeprefix(DENIED))
    return [said("The end.")]


def options() -> ClaudeAgentOptions:
    config = stage.FOLDER / "claude"
    return ClaudeAgentOptions(
        cwd=stage.FOLDER,
        model="claude-sonnet-4-5",
        tools=[],
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[refund])},
        setting_sources=[],
        env={
            "HOME": str(stage.FOLDER),
            "CLAUDE_CONFIG_DIR": str(config),
            "ANTHROPIC_BASE_URL": serve(TOOL, scripted),
            "ANTHROPIC_API_KEY": "made-up",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            # If this process is killed, its model is away, and Claude Code ends at once.
            "CLAUDE_CODE_MAX_RETRIES": "0",
        },
    )


def change() -> None:
    """Changes the arguments in the stored session."""
    (transcript,) = (stage.FOLDER / "claude" / "projects").rglob("*.jsonl")
    before, after = (
        json.dumps(arguments, separators=(",", ":"))
        for arguments in (stage.CALLS[0]["arguments"], stage.OTHER_ARGUMENTS)
    )
    text = transcript.read_text()
    assert before in text
    transcript.write_text(text.replace(before, after))


async def main() -> None:
    async with stage.async_wake() as wake:
        approvals = AsyncApprovals(wake, stage.PATH, options=stage.OPTIONS)
        sessions = ClaudeSessions(approvals, options(), [TOOL])
        if stage.CHANGED:
            change()
        if sys.argv[1] == "resume" or stage.THREAD in approvals.unasked(FRAMEWORK):
            ended = await sessions.resume_answered()
            stage.say(resumed={thread: result.result for thread, result in ended.items()})
        else:
            result = await sessions.start(stage.THREAD, "Refund it.")
            assert result.deferred_tool_use is not None, result


asyncio.run(main())
