"""Breaks the small server in one way each. BROKEN says which checks have to fail.

tests/check/row_variants.py has the servers whose answers are wrong."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.check import payloads
from tests.check.clock import FastClock
from tests.check.row_variants import WRONG_ROWS
from tests.check.small_server import KEYS, Reply, Request, SmallServer
from tests.check.store import Store, Stored


class LosesTies(SmallServer):
    """Five deliveries get the same time, and a page may end between them."""

    class store_class(Store):  # noqa: N801 - replaces the attribute
        made = 0
        shared = datetime.min.replace(tzinfo=UTC)

        def created_at(self) -> datetime:
            self.made += 1
            if self.made % 5 != 1:
                return self.shared
            self.shared = self.instant()
            return self.shared


class HasFifthStatus(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            row = super().row(stored)
            is_over = row["expired"] and row["status"] == "pending"
            return row | ({"status": "expired"} if is_over else {})


class AnswersExpired(SmallServer):
    """No one answered in time, so the server says that it is approved."""

    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            row = super().row(stored)
            if not row["expired"] or row["status"] != "pending":
                return row
            return row | {"status": "approved", "responded_at": row["expires_at"]}


class RedirectsSlash(SmallServer):
    def handle(self, request: Request) -> Reply:
        if request.path.endswith("/"):
            return Reply(301, b"", {"Location": request.path.rstrip("/")})
        return super().handle(request)


class AnswersInHtml(SmallServer):
    def error(self, status_code: int, code: str, **more: Any) -> Reply:
        if status_code != 404:
            return super().error(status_code, code, **more)
        return Reply(
            404, b"<h1>There is no such page below /wake/v1</h1>", content_type="text/html"
        )


class SignsOtherBytes(SmallServer):
    class store_class(Store):  # noqa: N801
        def signature(self, body: bytes) -> str:
            return super().signature(json.dumps(json.loads(body), indent=1).encode())


class ShowsOtherAgents(SmallServer):
    def response(self, request: Request, delivery_id: str) -> Reply:
        stored = self.store.deliveries.get(delivery_id)
        if stored and stored.agent != KEYS[request.key][0]:
            return Reply(200, self.store.body_of(stored))
        return super().response(request, delivery_id)


class ForgetsIdempotency(SmallServer):
    def replay(self, request: Request, earlier: tuple[bytes, dict[str, Any]]) -> Reply:
        return self.store_delivery(request.key, json.loads(request.body))


class FailsOnBadJson(SmallServer):
    def malformed(self, message: str) -> Reply:
        return self.error(500, "internal_error")


class DeclaresTooMuch(SmallServer):
    """Declares to withdraw, and has no such endpoint."""

    def withdraw(self, request: Request, delivery_id: str) -> Reply:
        return self.error(404, "not_found")


class ClaimsTwice(SmallServer):
    def claim(self, request: Request, delivery_id: str) -> Reply:
        if stored := self.find(request, delivery_id):
            stored.claim = None
        return super().claim(request, delivery_id)


class HasNoLimit(SmallServer):
    def limited(self) -> Reply:
        self.sent_in_test = 0
        return self.store_delivery("wk_test_own", _payload())


class SaysNoRetryAfter(SmallServer):
    def limited(self) -> Reply:
        return self.error(429, "rate_limited")


class CountsIds(SmallServer):
    class store_class(Store):  # noqa: N801
        def new_id(self) -> str:
            return str(uuid.UUID(int=len(self.deliveries) + 1))


class LetsAnswersBeReplaced(SmallServer):
    class store_class(Store):  # noqa: N801
        def answer(self, delivery_id: str, wish: dict[str, Any]) -> str:
            self.deliveries[delivery_id].status = "pending"
            return super().answer(delivery_id, wish)


class TrustsTheClaimedId(SmallServer):
    """Stores a delivery for the agent that it names."""

    def may_claim(self, agent: str, claimed: str) -> bool:
        return True

    def store_delivery(self, key: str, body: dict[str, Any]) -> Reply:
        reply = super().store_delivery(key, body)
        if reply.status == 201:
            self.store.deliveries[reply.body["delivery_id"]].agent = body["agent_id"]
        return reply


class SendsWithoutAllowlist(SmallServer):
    def __init__(self, clock: FastClock) -> None:
        super().__init__(clock)
        is_https: Any = lambda value: isinstance(value, str) and value.startswith("https:")  # noqa: E731
        webhook = payloads.is_webhook
        self.rules["callback_webhook"] = lambda value: webhook(value) or is_https(value)


class KeepsSinceOnly(SmallServer):
    """Finds deliveries by their creation, so that answers are missed."""

    def matching(
        self, request: Request, after: datetime, statuses: set[str], agent_id: str | None
    ) -> list[Stored]:
        everything = datetime.min.replace(tzinfo=after.tzinfo)
        found = super().matching(request, everything, statuses, agent_id)
        return [stored for stored in found if stored.created_at > after]


class RepeatsTheLastRow(SmallServer):
    """Takes `since` as inclusive."""

    def matching(
        self, request: Request, after: datetime, statuses: set[str], agent_id: str | None
    ) -> list[Stored]:
        is_first = after == datetime.min.replace(tzinfo=after.tzinfo)
        before = after if is_first else after - timedelta(microseconds=1)
        return super().matching(request, before, statuses, agent_id)


class CountsBytes(SmallServer):
    """Takes 120 letters with an umlaut for 240 characters."""

    def __init__(self, clock: FastClock) -> None:
        super().__init__(clock)
        self.rules["headline"] = lambda value: (
            payloads.is_text(value, 120) and len(value.encode()) <= 120
        )


class StoresHalfABatch(SmallServer):
    def deliveries(self, request: Request, _: str) -> Reply:
        body = json.loads(request.body)
        if body.get("atomic"):
            self.store_delivery(request.key, body["deliveries"][0])
        return super().deliveries(request, _)


class SendsAnotherBody(SmallServer):
    class store_class(Store):  # noqa: N801
        def send(self, stored: Stored, body: bytes) -> None:
            super().send(stored, json.dumps({**json.loads(body), "event": "answered"}).encode())


class TellsNoChallenge(SmallServer):
    def unauthorized(self) -> Reply:
        return self.error(401, "unauthorized")


class RendersMarkup(SmallServer):
    shows_markup_as_text = False


class HasLowLimits(SmallServer):
    def capabilities(self) -> Reply:
        reply = super().capabilities()
        reply.body["limits"] = {"deliveries": {"live": {"per_hour": 10, "burst": 1}}}
        return reply


class LimitsEarly(SmallServer):
    burst = 3


class NamesNoFields(SmallServer):
    def error(self, status_code: int, code: str, **more: Any) -> Reply:
        return super().error(status_code, code, **{**more, "fields": []})


class HasStatusInErrors(SmallServer):
    def error(self, status_code: int, code: str, **more: Any) -> Reply:
        reply = super().error(status_code, code, **more)
        reply.body["status"] = "failed"
        return reply


def _payload() -> dict[str, Any]:
    return {
        **{"agent_id": "painter", "provider": "none", "type": "output"},
        **{"headline": "Not limited", "summary": "It should have been."},
    }


BROKEN: dict[type[SmallServer], set[str]] = {
    **WRONG_ROWS,
    LosesTies: {"sweep-no-loss"},
    HasFifthStatus: {"response-statuses", "response-stays-pending"},
    AnswersExpired: {"response-stays-pending"},
    RedirectsSlash: {"slash"},
    AnswersInHtml: {"json-errors"},
    SignsOtherBytes: {"webhook-signature"},
    ShowsOtherAgents: {"other-agent-hidden", "unknown-delivery"},
    ForgetsIdempotency: {"extension-idempotency"},
    FailsOnBadJson: {"deliver-malformed", "json-strict"},
    DeclaresTooMuch: {
        *("extension-withdraw", "extension-withdrawn-at", "extension-withdraw-answered"),
    },
    ClaimsTwice: {"extension-claim"},
    HasNoLimit: {"rate-limit"},
    SaysNoRetryAfter: {"rate-limit"},
    CountsIds: {"delivery-id-random"},
    LetsAnswersBeReplaced: {"first-answer-counts"},
    TrustsTheClaimedId: {"agent-mismatch", "identity-from-key"},
    SendsWithoutAllowlist: {"deliver-webhook-allowlist"},
    KeepsSinceOnly: {"sweep-since-answers"},
    RepeatsTheLastRow: {"sweep-no-repetition"},
    CountsBytes: {"deliver-headline-length"},
    StoresHalfABatch: {"extension-batch"},
    SendsAnotherBody: {"webhook-body"},
    RendersMarkup: {"untrusted-content"},
    HasLowLimits: {"rate-limit-live"},
    LimitsEarly: {"rate-limit-figures"},
    NamesNoFields: {"error-shape"},
    HasStatusInErrors: {"error-no-status"},
    TellsNoChallenge: {"key-challenge"},
}
