"""An agent on the official SDK that makes one tool call for each prompt. It runs the call if the
permission's option is one that allows, and counts its runs in a file of its session's folder."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import acp
from acp.helpers import start_tool_call, text_block, update_agent_message, update_tool_call
from acp.schema import Implementation, PermissionOption, ToolCallUpdate

OPTIONS = [
    PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class Agent(acp.Agent):
    def on_connect(self, conn: Any) -> None:
        self.client, self.folders = conn, {}

    async def initialize(self, protocol_version: int, **more: Any) -> Any:
        info = Implementation(name="publisher", title="Publisher", version="1")
        return acp.InitializeResponse(protocol_version=protocol_version, agent_info=info)

    async def new_session(self, cwd: str, **more: Any) -> Any:
        session = str(uuid.uuid4())
        self.folders[session] = cwd
        return acp.NewSessionResponse(session_id=session)

    async def cancel(self, session_id: str, **more: Any) -> None:
        pass

    async def prompt(self, session_id: str, prompt: Any, **more: Any) -> Any:
        call = str(uuid.uuid4())

        async def update(step: Any) -> None:
            await self.client.session_update(session_id=session_id, update=step)

        given = {"command": "npm publish"}
        await update(start_tool_call(call, "npm publish", kind="execute", raw_input=given))
        response = await self.client.request_permission(
            session_id=session_id, tool_call=ToolCallUpdate(tool_call_id=call), options=OPTIONS
        )
        chosen = getattr(response.outcome, "option_id", None)
        if chosen in {"always", "yes"}:
            with Path(self.folders[session_id], "runs").open("a") as runs:
                runs.write("published\n")
            await update(update_tool_call(call, status="completed"))
        else:
            await update(update_tool_call(call, status="failed"))
        await update(update_agent_message(text_block(chosen or response.outcome.outcome)))
        is_cancelled = response.outcome.outcome == "cancelled"
        return acp.PromptResponse(stop_reason="cancelled" if is_cancelled else "end_turn")


asyncio.run(acp.run_agent(Agent()))
