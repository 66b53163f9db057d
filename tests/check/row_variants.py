"""Breaks the answers, the bulk requests and the callbacks of the small server, in one way each."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Any

import httpx

from tests.check.clock import FastClock
from tests.check.small_server import STATUSES, Reply, Request, SmallServer
from tests.check.store import CERTIFICATES, SECRET, Store, Stored

AN_HOUR = timedelta(hours=1)


class HasEmptyFeedback(SmallServer):
    class store_class(Store):  # noqa: N801 - replaces the attribute
        def row(self, stored: Stored) -> dict[str, Any]:
            row = super().row(stored)
            return row | ({"feedback": ""} if row["status"] == "pending" else {})


class LosesFeedback(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            return super().row(stored) | {"feedback": None}


class LosesAnswersToUpdates(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            is_update = stored.payload["type"] == "update"
            return super().row(stored) | ({"status": "pending"} if is_update else {})


class EditsEverything(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            row = super().row(stored)
            is_edited = row["status"] in {"approved", "rejected"}
            return row | ({"edited_content": {}} if is_edited else {})


class SaysErased(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            return super().row(stored) | {"erased": True}


class ForgetsDeadlines(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            return super().row(stored) | {"expires_at": None}


class HasLocalTimes(SmallServer):
    class store_class(Store):  # noqa: N801
        def row(self, stored: Stored) -> dict[str, Any]:
            row = super().row(stored)
            return row | {"responded_at": (row["responded_at"] or "").rstrip("Z") or None}


class SignsWithTheText(SmallServer):
    """Uses the text of the secret for Standard Webhooks, and not the bytes that it encodes."""

    class store_class(Store):  # noqa: N801
        def callback_headers(self, stored: Stored, body: bytes) -> dict[str, str]:
            headers = super().callback_headers(stored, body)
            signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
            digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
            return headers | {"webhook-signature": f"v1,{base64.b64encode(digest).decode()}"}


class NamesNoDelivery(SmallServer):
    class store_class(Store):  # noqa: N801
        def callback_headers(self, stored: Stored, body: bytes) -> dict[str, str]:
            return super().callback_headers(stored, body) | {"X-Wake-Delivery-Id": ""}


class FollowsRedirects(SmallServer):
    class store_class(Store):  # noqa: N801
        def post(self, url: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
            return httpx.post(
                url, content=body, headers=headers, verify=CERTIFICATES, follow_redirects=True
            )


class SendsOnce(SmallServer):
    class store_class(Store):  # noqa: N801
        def send_due(self) -> None:
            self.due.clear()


class IgnoresTheAgentId(SmallServer):
    def matching(
        self, request: Request, after: datetime, statuses: set[str], agent_id: str | None
    ) -> list[Stored]:
        return super().matching(request, after, statuses, None)


class IgnoresTheStatus(SmallServer):
    def matching(
        self, request: Request, after: datetime, statuses: set[str], agent_id: str | None
    ) -> list[Stored]:
        return super().matching(request, after, STATUSES, agent_id)


class RefusesOffsets(SmallServer):
    def time(self, text: str) -> datetime | None:
        return super().time(text) if text.endswith("Z") else None


class _ChangesPages(SmallServer):
    def responses(self, request: Request, _: str) -> Reply:
        reply = super().responses(request, _)
        if reply.status == 200:
            self.change(reply.body)
        return reply

    def change(self, page: dict[str, Any]) -> None:
        raise NotImplementedError


class ReversesPages(_ChangesPages):
    def change(self, page: dict[str, Any]) -> None:
        page["deliveries"].reverse()


class HasNoTotal(_ChangesPages):
    def change(self, page: dict[str, Any]) -> None:
        del page["total"]


class HasSlimRows(_ChangesPages):
    def change(self, page: dict[str, Any]) -> None:
        for row in page["deliveries"]:
            row.pop("responded_at", None)


class SaysNoMore(_ChangesPages):
    """The pages are right, but each of them claims to be the last one."""

    def change(self, page: dict[str, Any]) -> None:
        page["has_more"] = False


class HasNoDefaultLimit(SmallServer):
    default_limit = "200"

    def __init__(self, clock: FastClock) -> None:
        super().__init__(clock)
        for number in range(201):
            body = {"agent_id": "painter", "type": "update", "headline": f"{number} before"}
            stored = self.store.add("painter", "live", body)
            stored.created_at = stored.activity_at = stored.created_at - AN_HOUR


WRONG_ROWS: dict[type[SmallServer], set[str]] = {
    HasEmptyFeedback: {"response-pending"},
    LosesFeedback: {"response-approved", "response-rejected", "response-redirected"},
    LosesAnswersToUpdates: {"response-update", "sweep-status"},
    EditsEverything: {"edit-only-redirected"},
    SaysErased: {"extension-erased"},
    ForgetsDeadlines: {"extension-expires-at"},
    HasLocalTimes: {"times-iso-8601"},
    SignsWithTheText: {"extension-standard-webhooks"},
    NamesNoDelivery: {"webhook-headers"},
    FollowsRedirects: {"webhook-redirects"},
    SendsOnce: {"webhook-retries"},
    IgnoresTheAgentId: {"sweep-agent-id"},
    IgnoresTheStatus: {"sweep-status"},
    RefusesOffsets: {"sweep-since-forms"},
    ReversesPages: {"sweep-order"},
    HasNoTotal: {"sweep-shape"},
    HasSlimRows: {"sweep-items"},
    SaysNoMore: {"sweep-limit", "sweep-no-loss"},
    HasNoDefaultLimit: {"sweep-limit-default"},
}
