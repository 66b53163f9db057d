"""A session of the Claude Agent SDK that refunds an order after a person has approved the refund.

    python refund_with_claude_agent.py start      # asks people, and ends
    python refund_with_claude_agent.py resume     # continues each session that people have answered

The environment has WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID. With ANTHROPIC_API_KEY, Claude
decides; without, a scripted model does. Run it in the same folder each time, because Claude Code
finds its sessions by the folder.
"""

import asyncio
import os
import sys
import uuid
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, tool
from scripted_claude import called, said, serve, text_of

from wake_client import AsyncWakeClient
from wake_client.adapters import AskOptions, AsyncApprovals
from wake_client.adapters.claude_agent import ClaudeSessions

REFUND = "mcp__shop__refund"


@tool("refund", "Refunds an order.", {"order": str, "cents": int})
async def refund(arguments: dict[str, Any]) -> dict[str, Any]:
    print(f"Refunding {arguments['cents'] / 100:.2f} EUR for {arguments['order']}")
    return {"content": [{"type": "text", "text": f"{arguments['order']} is refunded."}]}


def scripted(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls the tool, then repeats what the tool said."""
    if results:
        return [said(text_of(results[-1]))]
    return [called(REFUND, str(uuid.uuid4()), {"order": "A-1042", "cents": 18_000})]


def model() -> dict[str, str]:
    """Returns the environment in which Claude Code finds its model."""
    if "ANTHROPIC_API_KEY" in os.environ:
        return {}
    return {"ANTHROPIC_BASE_URL": serve(REFUND, scripted), "ANTHROPIC_API_KEY": "scripted"}


async def ended(thread: str, result: ResultMessage) -> None:
    print("The agent says:", result.result)


async def main() -> None:
    endpoint, key, name = (
        os.environ[each] for each in ("WAKE_ENDPOINT", "WAKE_API_KEY", "WAKE_AGENT_ID")
    )
    async with AsyncWakeClient(endpoint, key, agent_id=name) as wake:
        approvals = AsyncApprovals(
            wake, "approvals.db", tools={REFUND: AskOptions(irreversible=True)}
        )
        shop = create_sdk_mcp_server("shop", tools=[refund])
        options = ClaudeAgentOptions(tools=[], mcp_servers={"shop": shop}, env=model())
        sessions = ClaudeSessions(approvals, options, [REFUND])
        if sys.argv[1] == "start":
            await sessions.start(str(uuid.uuid4()), "Refund order A-1042: 180.00 EUR.")
            print("Answer in Wake, then run: resume")
        else:
            await sessions.resume_answered(ended)


asyncio.run(main())
