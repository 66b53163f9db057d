"""Decides what an adapter asks, reads, claims and reports, without sending anything. Approvals and
AsyncApprovals run these flows (http/flows.py has the form of a flow)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from wake_client.adapters import verdicts
from wake_client.adapters.calls import ToolCall
from wake_client.adapters.questions import AskOptions, is_too_long, is_unicode, key_of, question
from wake_client.adapters.store import (
    DONE,
    FAILED,
    USING,
    AnsweredRun,
    Row,
    Store,
)
from wake_client.adapters.verdicts import NotRun, Verdict, verdict_of
from wake_client.answers import Answer, Status
from wake_client.digest import check_answer
from wake_client.errors import (
    AlreadyAnswered,
    ContentMismatch,
    NotAccepted,
    NotClaimed,
    NotFound,
    WakeError,
)
from wake_client.http.flows import Flow, Flows
from wake_client.http.options import MAX_ROWS
from wake_client.visible_text import shortened, visible

# A server without these extensions uses no approval up. Then only the file keeps count.
NEEDED = {"digest", "claim", "outcome"}
HAS_NO_LIST = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
# The server cannot read the arguments, for example because of U+0000, or they are too long for it.
UNREADABLE = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
ANSWERS: tuple[Status, ...] = ("approved", "rejected", "redirected")
REPLACED = "The agent now asks about the same call with other arguments."
LONGEST_SUMMARY = 280


@dataclass(slots=True)
class CallFlows:
    """Makes the flows of one program. `options` says how people are asked, and `tools` how for
    single tools."""

    flows: Flows
    store: Store
    options: AskOptions
    tools: Mapping[str, AskOptions]
    has_claims: bool | None = field(default=None, init=False)

    def ask_about(self, call: ToolCall) -> Flow[None]:
        row = self.store.begin(call)
        yield from self._withdraw_others(row)
        if row.delivery_id is not None or row.verdict is not None:
            return
        if is_too_long(call):
            self.store.decide(row, Verdict("deny", verdicts.TOO_LONG))
            return
        if not is_unicode(call):
            self.store.decide(row, Verdict("deny", verdicts.NOT_UNICODE))
            return
        options = self.tools.get(call.tool, self.options)
        asked = question(call, options, digest=(yield from self._has_claims()))
        try:
            receipt = yield from self.flows.deliver(
                "question",
                asked["headline"],
                asked["summary"],
                asked["optional"],
                idempotency_key=key_of(asked, row.key),
            )
        except NotAccepted as refusal:
            if refusal.status not in UNREADABLE:
                raise
            reason = verdicts.REFUSED.format(reason=refusal.message)
            self.store.decide(row, Verdict("deny", reason))
            return
        self.store.delivered(row, receipt, waits=options.on_timeout == "wait")

    def verdict(self, call: ToolCall, *, timeout: float | None) -> Flow[Verdict | None]:
        """Waits for the answer for `timeout` seconds, or without an end for None."""
        row = self.store.find(call)
        if row is not None and row.verdict is not None:
            return row.verdict
        if row is None or row.delivery_id is None:
            raise ValueError("Call ask_about() first. People were not asked about this call.")
        if timeout == 0:
            answer = yield from self.flows.response(row.delivery_id)
        else:
            answer = yield from self.flows.wait(
                row.delivery_id, timeout=timeout, must_wait=row.waits
            )
        verdict = _verdict(row, answer)
        return verdict and self.store.decide(row, verdict)

    def verdicts(self, calls: Sequence[ToolCall]) -> Flow[dict[str, Verdict] | None]:
        for call in calls:
            row = self.store.find(call)
            if row is None or (row.verdict is None and row.delivery_id is None):
                yield from self.ask_about(call)
        rows = [self.store.find(call) for call in calls]
        known = {row.call_id: row.verdict for row in rows if row and row.verdict}
        return known if len(known) == len(calls) else None

    def answered(self, framework: str | None) -> Flow[list[AnsweredRun]]:
        """Reads all new answers in one sweep. Also finds the questions that get no answer any
        more."""
        for row in self.store.unreported():
            yield from self._report(row)
        yield from self._sweep_answers(framework)
        yield from self._sweep_unanswered(framework)
        return self.store.answered(framework)

    def use(self, call: ToolCall) -> Flow[Row]:
        """Uses the approval of a call, just before the tool runs. Raises NotRun with the reason if
        the tool must not run. Raises WakeError if the server is away. The same use can then be
        tried again."""
        row = self.store.find_allowed(call)
        if row is None:
            raise NotRun(self._why_not(call))
        row = self.store.begin_use(row)
        if row.verdict is not None and row.verdict.decision == "deny":  # its claim was refused
            raise NotRun(row.verdict.words)
        if row.state == USING:
            yield from self._claim(row)
        if row.state != USING or not self.store.start(row):
            raise NotRun(verdicts.USED if row.state in {DONE, FAILED} else verdicts.MAY_HAVE_RUN)
        return row

    def end(self, call: ToolCall, failure: Exception | None) -> Flow[None]:
        """Records the end of a call that this or another process has begun."""
        row = self.store.find_running(call)
        if row is not None:
            yield from self.ended(row, failure)

    def ended(self, row: Row, failure: Exception | None = None) -> Flow[None]:
        """Records the end of a call, and reports it to people. If the server is away, the next
        sweep reports it."""
        row = self.store.end(row, DONE if failure is None else FAILED)
        yield from self._report(row, failure)

    def _withdraw_others(self, row: Row) -> Flow[None]:
        """Withdraws the questions about other arguments of the same call. If the server is away, or
        the process dies, the next ask_about() goes on from there."""
        for other in self.store.others(row):
            verdict = None
            if other.delivery_id is not None and other.verdict is None:
                with suppress(AlreadyAnswered):
                    yield from self.flows.withdraw(other.delivery_id, reason=REPLACED)
                    verdict = Verdict("deny", verdicts.WITHDRAWN, withdrawn=True)
            self.store.replace(other, verdict)

    def _has_claims(self) -> Flow[bool]:
        if self.has_claims is None:
            try:
                extensions = yield from self.flows.extensions()
            except WakeError as error:
                if error.status not in HAS_NO_LIST:
                    raise
                extensions = frozenset()
            self.has_claims = extensions >= NEEDED
        return self.has_claims

    def _sweep_answers(self, framework: str | None) -> Flow[None]:
        rows = self.store.waiting(framework)
        by_delivery = {row.delivery_id: row for row in rows}
        # A call that is delivered during the sweep has its own, later place to begin.
        since = min((row.since for row in rows if row.since), default=None)
        has_more = bool(rows)
        while has_more:
            page = yield from self.flows.sweep(since=since, status=ANSWERS, limit=MAX_ROWS, wait=0)
            found = _decided(by_delivery, page.answers)
            since, has_more = page.next_since, page.has_more
            if since is not None:
                self.store.swept(found, rows, since)

    def _sweep_unanswered(self, framework: str | None) -> Flow[None]:
        """Finds the questions that have expired or were withdrawn: no answer moves the cursor for
        them."""
        by_delivery = {row.delivery_id: row for row in self.store.waiting(framework)}
        since, has_more = None, bool(by_delivery)
        while has_more:
            page = yield from self.flows.sweep(
                since=since, status=("pending",), limit=MAX_ROWS, wait=0
            )
            for row, verdict in _decided(by_delivery, page.answers):
                self.store.decide(row, verdict)
            since, has_more = page.next_since, page.has_more

    def _why_not(self, call: ToolCall) -> str:
        row = self.store.find(call)
        if row is None:
            return verdicts.ANOTHER_CALL if self.store.is_known(call) else verdicts.NOT_ASKED
        if row.verdict is None:
            return verdicts.NOT_ANSWERED
        # An edit allows other arguments than those that people were asked about.
        return row.verdict.without_edit.words

    def _claim(self, row: Row) -> Flow[None]:
        if row.delivery_id is None or row.content_digest is None:  # the server has no claims
            return
        try:
            yield from self.flows.claim(
                row.delivery_id, digest=row.content_digest, idempotency_key=row.claim_key
            )
        except NotClaimed as refusal:
            reason = verdicts.not_used(refusal.code, refusal.delivery_status)
            self.store.refuse(row, Verdict("deny", reason))
            raise NotRun(reason) from refusal

    def _report(self, row: Row, failure: Exception | None = None) -> Flow[None]:
        """Reports the end of a call. Tries only once, because the agent waits for the result of its
        tool."""
        if row.delivery_id is None or row.content_digest is None:
            return
        text = None if failure is None else f"{type(failure).__name__}: {failure}"
        with suppress(WakeError), _refused(self.store, row):
            yield from replace(self.flows, retry_for=0).report(
                row.delivery_id,
                "done" if row.state == DONE else "failed",
                summary=text and shortened(visible(" ".join(text.split())), LONGEST_SUMMARY),
                details=None,
                # A process that died after the report repeats it with other words at most, which
                # the server refuses.
                idempotency_key=f"{row.key}-end",
            )
            self.store.reported(row)


@contextmanager
def _refused(store: Store, row: Row) -> Iterator[None]:
    """Records a report that the server never accepts, so that no later sweep repeats it."""
    try:
        yield
    except (NotFound, NotAccepted, AlreadyAnswered):
        store.reported(row)
        raise


def _decided(
    by_delivery: Mapping[str | None, Row], answers: tuple[Answer, ...]
) -> list[tuple[Row, Verdict]]:
    found = [(by_delivery.get(answer.delivery_id), answer) for answer in answers]
    judged = [(row, _verdict(row, answer)) for row, answer in found if row is not None]
    return [(row, verdict) for row, verdict in judged if verdict is not None]


def _verdict(row: Row, answer: Answer) -> Verdict | None:
    try:
        check_answer(answer, row.content_digest)
    except ContentMismatch:
        return Verdict("deny", verdicts.MISMATCH)
    return verdict_of(answer, waits=row.waits)
