"""Keeps the deliveries of the small server in memory, and answers and signs them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import ssl
import threading
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx

from tests.check.clock import FastClock

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
CERTIFICATES = ssl.create_default_context()  # once: each reading takes a tenth of a second
FIVE_SECONDS = timedelta(seconds=5)


@dataclass
class Stored:
    id: str
    agent: str
    mode: str
    payload: dict[str, Any]
    created_at: datetime
    activity_at: datetime
    nonce: str
    status: str = "pending"
    feedback: str | None = None
    edited_content: Any = None
    responded_at: datetime | None = None
    withdrawn: dict[str, Any] | None = None
    claim: dict[str, Any] | None = None
    attempt: str | None = None

    @property
    def expires_at(self) -> datetime | None:
        seconds = self.payload.get("timeout_seconds")
        return self.created_at + timedelta(seconds=seconds) if seconds else None

    @property
    def wants_digest(self) -> bool:
        return self.payload.get("digest") is True


@dataclass
class Due:
    """A callback that has to be sent again."""

    at: datetime
    stored: Stored
    body: bytes


@dataclass
class Store:
    """Broken variants of the small server replace single methods."""

    clock: FastClock
    deliveries: dict[str, Stored] = field(default_factory=dict)
    due: list[Due] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    last: datetime | None = None

    def instant(self) -> datetime:
        """Returns a time that no earlier change has."""
        now = self.clock.date()
        if self.last and now <= self.last:
            now = self.last + timedelta(microseconds=1)
        self.last = now
        return now

    def add(self, agent: str, mode: str, payload: dict[str, Any]) -> Stored:
        with self.lock:
            at = self.created_at()
            stored = Stored(self.new_id(), agent, mode, payload, at, at, secrets.token_urlsafe(16))
            self.deliveries[stored.id] = stored
            return stored

    def created_at(self) -> datetime:
        return self.instant()

    def new_id(self) -> str:
        return str(uuid.uuid4())

    def answer(self, delivery_id: str, wish: dict[str, Any]) -> str:
        """Stores a person's answer, and sends the callback. Returns why it was refused, or an empty
        text."""
        with self.lock:
            stored = self.deliveries[delivery_id]
            if stored.status != "pending":
                return "Someone has answered before."
            stored.status = wish["status"]
            stored.feedback = wish.get("feedback")
            stored.edited_content = wish.get("edited_content")
            stored.responded_at = stored.activity_at = self.instant()
        if stored.payload.get("callback_webhook"):
            self.send(stored, self.body_of(stored))
        return ""

    def row(self, stored: Stored) -> dict[str, Any]:
        expires_at, at = stored.expires_at, stored.responded_at or self.clock.date()
        expired = bool(expires_at and at >= expires_at)
        row = {
            "delivery_id": stored.id,
            "status": stored.status,
            "feedback": stored.feedback,
            "edited_content": stored.edited_content,
            "responded_at": text_of(stored.responded_at),
            "expires_at": text_of(expires_at),
            "expired": expired,
            "late": expired and stored.status != "pending",
            "erased": False,
        }
        if stored.wants_digest and stored.status != "pending":
            row |= {"digest": self.digest(stored), "nonce": stored.nonce}
        if stored.withdrawn:
            row["withdrawn_at"] = stored.withdrawn["withdrawn_at"]
        return row

    def body_of(self, stored: Stored) -> bytes:
        return json.dumps(self.row(stored), ensure_ascii=False).encode()

    def digest(self, stored: Stored) -> str:
        payload = stored.payload
        details = payload.get("details")
        members = {
            "nonce": stored.nonce,
            "details": None if details is None else json.dumps(details),
            "files": [],
            "irreversible": payload.get("irreversible", False),
            **{
                name: payload.get(name)
                for name in (
                    *("agent_id", "type", "headline", "summary", "assumption"),
                    *("timeout_seconds", "supersedes", "on_timeout", "quorum"),
                )
            },
        }
        text = json.dumps(members, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def send(self, stored: Stored, body: bytes) -> None:
        url = stored.payload["callback_webhook"]
        headers = self.callback_headers(stored, body)
        if not self.post(url, body, headers).is_success:
            self.due.append(Due(self.clock.date() + FIVE_SECONDS, stored, body))

    def post(self, url: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        return httpx.post(url, content=body, headers=headers, verify=CERTIFICATES)

    def send_due(self) -> None:
        for due in [each for each in self.due if each.at <= self.clock.date()]:
            self.due.remove(due)
            self.send(due.stored, due.body)

    def callback_headers(self, stored: Stored, body: bytes) -> dict[str, str]:
        at = str(int(self.clock.date().timestamp()))
        signed = f"{stored.id}.{at}.".encode() + body
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return {
            "Content-Type": "application/json",
            "X-Wake-Delivery-Id": stored.id,
            "X-Wake-Signature": self.signature(body),
            "webhook-id": stored.id,
            "webhook-timestamp": at,
            "webhook-signature": f"v1,{signature}",
        }

    def signature(self, body: bytes) -> str:
        return "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def text_of(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
