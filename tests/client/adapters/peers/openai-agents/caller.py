"""Runs an agent of the OpenAI Agents SDK whose scripted model calls the tool `refund`, one step in
each process.

The first argument is the step: `start` runs the agent to its pause and asks people, and `resume`
resumes every answered run. With "nested" as the second argument, another agent calls this one as a
tool.
"""

import asyncio
import json
import sys
from typing import Any

from agents import Agent, FunctionTool, Model, ModelResponse, RunConfig, Runner, Usage
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from tests.client.adapters import stage
from wake_client.adapters import AsyncApprovals
from wake_client.adapters.openai_agents import FRAMEWORK, RunApprovals, approved_tool

IS_NESTED = "nested" in sys.argv
CUSTOMER = {"customer": "Anna"}


class Scripted(Model):
    """Makes its calls, and says what it was told about them when they have ended."""

    def __init__(self, tool: str, calls: list[dict[str, Any]]) -> None:
        self.tool, self.calls = tool, calls

    async def get_response(self, *, input: Any, **ignored: Any) -> Any:  # type: ignore[override]
        told = [
            item["output"]
            for item in input
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        ]
        if not told:
            return _response(*(_call(self.tool, **call) for call in self.calls))
        if self.tool == "refund":
            stage.die("model")
            for words in told:
                stage.say(told=words)
        return _response(_message("The end."))

    def stream_response(self, *ignored: Any, **more: Any) -> Any:
        raise NotImplementedError


def _response(*output: Any) -> ModelResponse:
    return ModelResponse(output=list(output), usage=Usage(), response_id=None)


def _call(tool: str, id: str, arguments: Any) -> ResponseFunctionToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ResponseFunctionToolCall(type="function_call", name=tool, call_id=id, arguments=text)


def _message(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="message-1", type="message", role="assistant", status="completed", content=[content]
    )


def agent(approvals: AsyncApprovals) -> Agent[Any]:
    @approved_tool(approvals)
    def refund(context: ToolContext[Any], order: str, cents: int) -> str:
        """Refunds an order."""
        assert context.context == CUSTOMER
        return stage.refund(order, cents)

    if stage.CHANGED:
        change(refund)
    refunder = Agent[Any](name="Refunder", tools=[refund], model=Scripted("refund", stage.CALLS))
    if not IS_NESTED:
        return refunder
    ask = {"id": "call-outer", "arguments": {"input": "Refund it."}}
    tool = refunder.as_tool("refunder", "Refunds orders.")
    return Agent[Any](name="Chief", tools=[tool], model=Scripted("refunder", [ask]))


def change(tool: FunctionTool) -> None:
    """Makes the framework call the tool with other arguments."""
    once: Any = tool.on_invoke_tool

    class Changed(type(once)):  # type: ignore[misc]
        async def __call__(self, context: Any, text: str) -> Any:
            return await super().__call__(context, json.dumps(stage.OTHER_ARGUMENTS))

    tool.on_invoke_tool = Changed(once.approvals, once.invoke, once.failure_words)


async def main() -> None:
    async with stage.async_wake() as wake:
        approvals = AsyncApprovals(wake, stage.PATH, options=stage.OPTIONS)
        options = {"context": CUSTOMER, "run_config": RunConfig(tracing_disabled=True)}
        chief = agent(approvals)
        runs = RunApprovals(chief, approvals, **options)
        if sys.argv[1] == "resume" or stage.THREAD in approvals.unasked(FRAMEWORK):
            ended = await runs.resume_answered()
            stage.say(resumed={thread: result.final_output for thread, result in ended.items()})
        else:
            result = await Runner.run(chief, "Refund it.", **options)
            assert await runs.ask_about(stage.THREAD, result)


if __name__ == "__main__":
    asyncio.run(main())
