"""Remembers what the editor and the agent said about sessions and tool calls, because a permission
request need not repeat it."""

from __future__ import annotations

from typing import Any

from wake_client.acp import messages
from wake_client.acp.messages import Message, RequestId

MAX_REMEMBERED = 1000
REMEMBERED_METHODS = (
    messages.INITIALIZE,
    messages.NEW_SESSION,
    messages.LOAD_SESSION,
    messages.RESUME_SESSION,
    messages.PROMPT,
)
TOOL_CALL, TOOL_CALL_UPDATE = "tool_call", "tool_call_update"
ENDED = ("completed", "failed")
# These members say how far a call is, and what came of it. The other members say what it does.
PROGRESS = {"sessionUpdate", "toolCallId", "status", "rawOutput", "_meta"}


class Sessions:
    """Holds the name of the agent, the folder of each session, and the tool calls that have not
    ended."""

    def __init__(self) -> None:
        self.agent = "The agent"
        self._folders: dict[str, str] = {}
        self._requests: dict[RequestId, Message] = {}
        self._calls: dict[tuple[str, str], Message] = {}

    def folder(self, session: str) -> str:
        """Returns the working directory of a session, or an empty text if it is not known."""
        return self._folders.get(session, "")

    def call(self, session: str, call_id: str) -> Message:
        """Returns every member that says what the call does, with its latest value."""
        return self._calls.get((session, call_id), {})

    def update_call(self, session: str, update: Message) -> None:
        """Stores the members of an update. A null leaves the earlier value, as in the protocol."""
        call_id = update.get("toolCallId")
        if not isinstance(call_id, str):
            return
        given = {
            name: value
            for name, value in update.items()
            if name not in PROGRESS and value is not None
        }
        earlier = self._calls.pop((session, call_id), {})
        if update.get("status") not in ENDED:
            _remember(self._calls, (session, call_id), {**earlier, **given})

    def read_from_editor(self, message: Message) -> None:
        id, method = messages.request_id(message), message.get("method")
        if id is not None and method in REMEMBERED_METHODS:
            _remember(self._requests, id, message)

    def answered_request(self, response: Message) -> Message | None:
        """Returns the editor's request that the agent answers, and learns from the answer."""
        id = messages.request_id(response)
        request = None if id is None else self._requests.pop(id, None)
        result = response.get("result")
        if request is None or not isinstance(result, dict):
            return request
        params = messages.params_of(request)
        match request["method"], result, params:
            case messages.INITIALIZE, {"agentInfo": {"title": str(name)} | {"name": str(name)}}, _:
                self.agent = name
            case messages.NEW_SESSION, {"sessionId": str(session)}, {"cwd": str(folder)}:
                _remember(self._folders, session, folder)
            case _, _, {"sessionId": str(session), "cwd": str(folder)}:
                _remember(self._folders, session, folder)
        return request


def _remember(store: dict[Any, Any], key: Any, value: Any) -> None:
    """Stores a value, and forgets the oldest one if there are too many."""
    store[key] = value
    if len(store) > MAX_REMEMBERED:
        del store[next(iter(store))]
