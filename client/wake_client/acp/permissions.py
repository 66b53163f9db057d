"""Asks people in Wake about each permission request, while the editor asks, too. The first answer
wins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from wake_client.acp import messages
from wake_client.acp.messages import Message, RequestId
from wake_client.acp.questions import (
    NotAsked,
    PermissionRequest,
    question,
    request_of,
)
from wake_client.acp.selections import selection_of
from wake_client.acp.sessions import ENDED, Sessions
from wake_client.answers import Answer, OutcomeStatus, Receipt
from wake_client.async_client import AsyncWakeClient
from wake_client.errors import AlreadyAnswered, Unavailable, WakeError
from wake_client.hook import claims
from wake_client.shell.output import say

# Seconds in which the last questions are withdrawn and the last outcomes are reported.
SECONDS_TO_END = 3.0
# The server holds an answer for some seconds, in which a person can take it back.
RELEASE_SECONDS = 15.0
ASSUMPTION = "The editor asks, too. The agent does nothing without a decision."
BY_EDITOR = "A person answered in the editor."
BY_CANCEL = "The agent's turn was cancelled in the editor."
BY_AGENT = "The agent does not wait for this answer any more."
CHANGED = "The agent changed the tool call after it had asked."
SAME_ID = "The agent made another request with the same id."
TROUBLE = "Wake could not use an answer any more."
ENDED_CALL = "The tool call has ended."
EXPIRED = "No answer came in time, so only the editor asks."
BY_RULE = "A rule of the team answered, and only a person may allow a tool call."
NO_OPTION = "The answer chooses no option of the request."
ONLY_EDITOR = "Only the editor asks about this tool call."
UNUSED = "This answer was not used."
MAX_THREAD = 128
WORKED, FAILED = "The call ended without an error.", "The call ended with an error."


@dataclass(eq=False, slots=True)
class Pending:
    """Holds an open request. `ended` is set, with the reason, when Wake's answer
    does not count any more."""

    request: PermissionRequest
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""

    def end(self, reason: str) -> None:
        if not self.ended.is_set():
            self.reason = reason
            self.ended.set()


class Permissions:
    """Follows the messages in both directions. `to_agent` and `to_editor` write a line.

    A question in Wake has a deadline of `deadline` seconds. The editor's own question has no
    deadline. So the editor still asks if Wake's deadline has passed, or if anything fails.
    """

    def __init__(
        self,
        client: AsyncWakeClient,
        *,
        deadline: int,
        to_agent: Callable[[bytes], None],
        to_editor: Callable[[bytes], None],
    ) -> None:
        self._client, self._deadline = client, deadline
        self._to_agent, self._to_editor = to_agent, to_editor
        self._sessions = Sessions()
        self._pending: dict[RequestId, Pending] = {}
        # Wake answered these requests, so the answers of the editor are dropped.
        self._answered: set[RequestId] = set()
        # The deliveries that allowed the calls that have not ended, by session and call.
        self._allowed: dict[tuple[str, str], str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def read_from_editor(self, message: Message) -> bool:
        """Returns whether the message is for the agent. It is not, if it answers a request that
        Wake has answered."""
        self._sessions.read_from_editor(message)
        if message.get("method") == messages.CANCEL:
            self._end_session(messages.params_of(message).get("sessionId"), BY_CANCEL)
        id = messages.request_id(message)
        if id is None or not messages.is_response(message):
            return True
        if id in self._answered:
            self._answered.remove(id)
            return False
        self._end(id, BY_EDITOR)
        return True

    def read_from_agent(self, message: Message) -> bool:
        """Reads a message that the editor has got already. Returns True: each one is for the
        editor."""
        params = messages.params_of(message)
        match message.get("method"):
            case messages.REQUEST_PERMISSION:
                self._ask(message)
            case messages.UPDATE:
                self._read_update(params.get("sessionId"), params.get("update"))
            case messages.CANCEL_REQUEST:
                self._end(params.get("requestId"), BY_AGENT)
            case None:
                request = self._sessions.answered_request(message)
                if request and request["method"] == messages.PROMPT:
                    self._end_session(messages.params_of(request).get("sessionId"), BY_AGENT)
        return True

    def end_all(self, reason: str) -> None:
        """Ends all open requests. Only the editor still asks about them."""
        for id in list(self._pending):
            self._end(id, reason)

    async def close(self) -> None:
        """Withdraws the open questions, and waits for the last requests."""
        self.end_all(BY_AGENT)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=SECONDS_TO_END)
            for task in late:
                task.cancel()

    def _ask(self, message: Message) -> None:
        id = messages.request_id(message)
        if id is None or id in self._pending:
            # The agent could take an answer to the earlier request for one to this request.
            self._end(id, SAME_ID)
            _warn(f"{ONLY_EDITOR} The request has no id of its own.")
            return
        try:
            request = request_of(id, message, self._sessions)
        except NotAsked as reason:
            _warn(f"{ONLY_EDITOR} {reason}")
            return
        self._pending[id] = Pending(request)
        self._start(self._follow(self._pending[id]))

    def _read_update(self, session: Any, update: Any) -> None:
        match session, update:
            case str(), {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(id)}:
                self._sessions.update_call(session, update)
            case _:
                return
        ends = update.get("status") in ENDED
        for pending in list(self._pending.values()):
            request = pending.request
            if (request.session, request.call_id) != (session, id):
                continue
            if ends:
                self._end(request.id, ENDED_CALL)
            elif self._sessions.call(session, id) != request.call:
                # People would decide about a call that they do not see. Only the editor asks now.
                pending.end(CHANGED)
        if ends and (delivery_id := self._allowed.pop((session, id), None)):
            self._start(self._report(delivery_id, *_outcome(update)))

    def _end(self, value: object, reason: str) -> None:
        id = messages.as_id(value)
        pending = None if id is None else self._pending.pop(id, None)
        if pending:
            pending.end(reason)

    def _end_session(self, session: object, reason: str) -> None:
        for id, pending in list(self._pending.items()):
            if pending.request.session == session:
                self._end(id, reason)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, pending: Pending) -> None:
        """Asks people about one request, and answers the agent unless the editor was faster."""
        try:
            receipt = await self._deliver(pending.request)
        except (WakeError, ValueError, RecursionError) as error:
            _warn(f"{ONLY_EDITOR} {error}")
            return
        try:
            answer = await self._answer(pending, receipt)
            if answer is not None:
                await self._use(pending, receipt, answer)
        except WakeError as error:
            _warn(f"{ONLY_EDITOR} {error}")
            pending.end(TROUBLE)
            with suppress(WakeError):
                await self._withdraw(receipt, pending)

    async def _deliver(self, request: PermissionRequest) -> Receipt:
        asked = question(request)
        return await self._client.deliver(
            "question",
            asked.headline,
            asked.summary,
            details=asked.details,
            timeout_seconds=self._deadline,
            assumption=ASSUMPTION,
            on_timeout="hold",
            thread=f"acp-{request.session}"[:MAX_THREAD],
            digest=True if await self._has_claims() else None,
        )

    async def _has_claims(self) -> bool:
        try:
            return await self._client.extensions() >= claims.NEEDED
        except WakeError as error:
            if error.status not in claims.HAS_NO_LIST:
                raise
            _warn(claims.NO_LIST.format(status=error.status))
            return False

    async def _answer(self, pending: Pending, receipt: Receipt) -> Answer | None:
        """Returns the answer of Wake, or None if there is none that counts. Then the question is
        withdrawn."""
        waiting = asyncio.create_task(self._wait(receipt))
        ending = asyncio.create_task(pending.ended.wait())
        await asyncio.wait({waiting, ending}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        ending.cancel()
        answer, _ = await asyncio.gather(waiting, ending, return_exceptions=True)
        if not pending.ended.is_set():
            if isinstance(answer, BaseException):
                raise answer
            if answer.is_answered:
                return answer
            pending.end(EXPIRED)
        await self._withdraw(receipt, pending)
        return None

    async def _wait(self, receipt: Receipt) -> Answer:
        """Waits until the deadline, even while the server is away."""
        while True:
            try:
                return await self._client.wait(receipt.delivery_id, digest=receipt.digest)
            except Unavailable as error:
                _warn(f"{error}; trying again")

    async def _withdraw(self, receipt: Receipt, pending: Pending) -> None:
        """Withdraws a question whose answer does not count any more. If a person has answered
        already, tells people that the answer was not used."""
        try:
            await self._client.withdraw(receipt.delivery_id, pending.reason)
        except AlreadyAnswered:
            await self._report(receipt.delivery_id, "skipped", f"{pending.reason} {UNUSED}")

    async def _use(self, pending: Pending, receipt: Receipt, answer: Answer) -> None:
        """Answers the agent. An approval is used up first."""
        request = pending.request
        selection = selection_of(request, answer)
        if selection is None:
            pending.end(NO_OPTION if answer.responded_by is None else BY_RULE)
            _warn(f"{pending.reason} {ONLY_EDITOR}")
        elif selection.allows and receipt.digest is not None:
            await self._client.claim(receipt.delivery_id, digest=receipt.digest)
        # From here to the answer, the editor cannot come between.
        if selection is None or pending.ended.is_set():
            await self._report(receipt.delivery_id, "skipped", f"{pending.reason} {UNUSED}")
            return
        del self._pending[request.id]
        self._answered.add(request.id)
        if selection.allows:
            self._allowed[request.session, request.call_id] = receipt.delivery_id
        option = selection.option
        self._to_agent(messages.permission_response(request.id, option.id if option else None))
        self._to_editor(messages.cancellation(request.id))
        if answer.feedback:
            _warn(f"A person wrote about {request.title}: {answer.feedback}")

    async def _report(self, delivery_id: str, status: OutcomeStatus, summary: str) -> None:
        try:
            await self._client.report(delivery_id, status, summary)
        except WakeError as error:
            command = f"wake report {delivery_id} {status}"
            _warn(f"An outcome was not reported: {error} Report it with: {command}")


def _outcome(update: Message) -> tuple[OutcomeStatus, str]:
    return ("done", WORKED) if update["status"] == "completed" else ("failed", FAILED)


def _warn(text: str) -> None:
    say(f"wake acp: {text}")
