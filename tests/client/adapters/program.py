"""Plays an agent without a framework. It asks about the first call, and makes the call when it is
started again. With "async" as the argument, the agent awaits."""

from __future__ import annotations

import asyncio
import sys

from tests.client.adapters import stage
from wake_client.adapters import AnsweredRun, Approvals, AsyncApprovals, NotRun, ToolCall

CALL = ToolCall("Testing", stage.THREAD, "call-1", "refund", stage.CALLS[0]["arguments"])


async def refund_later() -> str:
    return stage.refund(**CALL.arguments)


def main() -> None:
    with stage.wake() as wake:
        approvals = Approvals(wake, stage.PATH)
        approvals.ask_about(CALL)

        def resume(run: AnsweredRun) -> None:
            try:
                told = approvals.run(CALL, lambda: stage.refund(**CALL.arguments))
            except NotRun as reason:
                told = str(reason)
            stage.say(told=told)

        approvals.resume_answered("Testing", resume)


async def main_async() -> None:
    async with stage.async_wake() as wake:
        approvals = AsyncApprovals(wake, stage.PATH)
        await approvals.ask_about(CALL)

        async def resume(run: AnsweredRun) -> None:
            try:
                told = await approvals.run(CALL, refund_later)
            except NotRun as reason:
                told = str(reason)
            stage.say(told=told)

        await approvals.resume_answered("Testing", resume)


if "async" in sys.argv:
    asyncio.run(main_async())
else:
    main()
