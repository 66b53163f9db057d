"""An editor on the official SDK. It starts the given command as its agent, sends one prompt, and
prints a line of JSON for each event. Its first argument is the button that its person presses:
`yes` and `no` answer, `stop` cancels the turn, and `none` lets the dialog wait.

This SDK has no `$/cancel_request` yet, so a dialog waits until its turn ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.helpers import text_block
from acp.schema import AllowedOutcome, DeniedOutcome


def show(**event: Any) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


class Editor(acp.Client):
    def __init__(self, button: str) -> None:
        self.button = button

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **more: Any
    ) -> Any:
        show(dialog=[option.option_id for option in options])
        match self.button:
            case "none":
                await asyncio.Event().wait()
            case "stop":
                await self.agent.cancel(session_id=session_id)
                return acp.RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = AllowedOutcome(outcome="selected", option_id=self.button)
        return acp.RequestPermissionResponse(outcome=chosen)

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        match update.session_update:
            case "tool_call" | "tool_call_update":
                show(call=update.status or "pending")
            case "agent_message_chunk":
                show(said=update.content.text)


async def main(button: str, folder: str, *command: str) -> None:
    async with acp.spawn_agent_process(Editor(button), *command, env=os.environ) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = (await agent.new_session(cwd=folder, mcp_servers=[])).session_id
        result = await agent.prompt(session_id=session, prompt=[text_block("Publish it.")])
        show(stop=result.stop_reason)


asyncio.run(main(*sys.argv[1:]))
