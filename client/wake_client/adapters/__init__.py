"""Lets an agent of any framework wait for people (docs/adapters/README.md). An adapter asks about a
call of a tool, reads the answer after a restart, and makes an approved call once."""

from wake_client.adapters.approvals import Approvals, AsyncApprovals
from wake_client.adapters.calls import ToolCall
from wake_client.adapters.questions import AskOptions
from wake_client.adapters.store import AnsweredRun
from wake_client.adapters.verdicts import NotRun, Verdict

__all__ = [
    "AnsweredRun",
    "Approvals",
    "AskOptions",
    "AsyncApprovals",
    "NotRun",
    "ToolCall",
    "Verdict",
]
