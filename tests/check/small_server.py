"""Serves WAKE from memory: a second implementation, against which the kit is tested."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.check import payloads, receipts
from tests.check.clock import FastClock
from tests.check.store import Store, Stored, text_of

OWN, OTHER, TEST = "wk_live_own", "wk_live_other", "wk_test_own"
KEYS = {OWN: ("painter", "live"), OTHER: ("writer", "live"), TEST: ("painter", "test")}
STATUSES = {"pending", "approved", "rejected", "redirected"}
FIELDS = (
    *("assumption", "on_timeout", "thread", "supersedes", "priority", "quorum", "irreversible"),
    *("digest", "claim_within_seconds"),
)
EXTENSIONS = (
    *FIELDS,
    *("batch", "blobs", "claim", "erased", "expires_at", "idempotency", "outcome", "proof"),
    *("receipt", "standard-webhooks", "wait", "wake_blocks", "withdraw", "withdrawn_at"),
)
BURST = 5
BODY_BYTES = 262_144
DELIVERIES = {"test": {"burst": BURST}, "live": {"per_hour": 500, "burst": 50}}


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    key: str = ""

    def one(self, name: str) -> str | None:
        values = self.query.get(name, [None])
        return values[0] if len(values) == 1 else ""


@dataclass
class Reply:
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, ensure_ascii=False).encode()


class SmallServer:
    """Broken variants replace single methods."""

    extensions: tuple[str, ...] = EXTENSIONS
    shows_markup_as_text = True
    burst = BURST
    default_limit = "50"
    store_class = Store

    def __init__(self, clock: FastClock) -> None:
        self.store = self.store_class(clock)
        self.rules = {**payloads.RULES, "supersedes": lambda value: value in self.store.deliveries}
        self.replays: dict[tuple[str, str], tuple[bytes, dict[str, Any]]] = {}
        self.blobs: dict[str, dict[str, Any]] = {}
        self.sent_in_test = 0

    def handle(self, request: Request) -> Reply:
        parts = request.path.rstrip("/").split("/")[1:]
        if request.path == "/.well-known/wake-keys.json":
            return Reply(200, receipts.KEYS)
        if parts[:2] != ["wake", "v1"]:
            return self.error(404, "not_found")
        if len(request.body) > BODY_BYTES:
            return self.error(413, "too_large")
        name = parts[2] if len(parts) > 2 else ""
        return self.route(request, name, "/".join(parts[3:]))

    def route(self, request: Request, name: str, delivery_id: str) -> Reply:
        get = {"response": self.response, "responses": self.responses, "receipt": self.receipt}
        post = {
            **{"deliver": self.deliver, "deliveries": self.deliveries, "blobs": self.upload},
            **{"withdraw": self.withdraw, "claim": self.claim, "outcome": self.outcome},
        }
        public = {
            "": self.capabilities,
            "openapi.json": self.openapi,
            "schema.json": self.schema,
        }
        if request.method == "GET" and name in public:
            return public[name]()
        if name == "wake":
            return self.error(404, "not_found", hint="The path has /wake/v1 twice.")
        if name not in get and name not in post:
            return self.error(404, "not_found")
        view = {"GET": get, "POST": post}.get(request.method, {}).get(name)
        if view is None:
            return self.error(405, "method_not_allowed")
        scheme, _, request.key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or request.key not in KEYS:
            return self.unauthorized()
        return view(request, delivery_id)

    def capabilities(self) -> Reply:
        limits = {"body_bytes": BODY_BYTES, "deliveries": DELIVERIES}
        return Reply(
            200, {"protocol": "1.0", "extensions": list(self.extensions), "limits": limits}
        )

    def openapi(self) -> Reply:
        return Reply(200, {"openapi": "3.1.0"})

    def schema(self) -> Reply:
        return Reply(200, {"$schema": "https://json-schema.org/draft/2020-12/schema"})

    def error(self, status_code: int, code: str, **more: Any) -> Reply:
        return Reply(status_code, {"error": {"code": code, "message": f"{code}.", **more}})

    def unauthorized(self) -> Reply:
        reply = self.error(401, "unauthorized")
        reply.headers["WWW-Authenticate"] = "Bearer"
        return reply

    def deliver(self, request: Request, _: str) -> Reply:
        try:
            body = payloads.read_object(request.body)
        except payloads.Malformed as error:
            return self.malformed(str(error))
        key = request.headers.get("idempotency-key")
        if key is not None and (earlier := self.replays.get((request.key, key))):
            return self.replay(request, earlier)
        reply = self.store_delivery(request.key, body)
        if key is not None and reply.status == 201:
            self.replays[request.key, key] = (request.body, reply.body)
        return reply

    def malformed(self, message: str) -> Reply:
        return self.error(400, "malformed")

    def replay(self, request: Request, earlier: tuple[bytes, dict[str, Any]]) -> Reply:
        body, receipt = earlier
        if json.loads(body) != json.loads(request.body):
            return self.error(422, "idempotency_key_reused")
        return Reply(201, receipt, {"Idempotency-Replayed": "true"})

    def store_delivery(self, key: str, body: dict[str, Any]) -> Reply:
        agent, mode = KEYS[key]
        if payloads.missing(body):
            return self.error(400, "missing_field")
        if wrong := payloads.invalid(body, self.rules):
            fields = [{"field": name, "code": "invalid", "message": "Invalid."} for name in wrong]
            return self.error(422, "invalid_field", fields=fields)
        if not self.may_claim(agent, body["agent_id"]):
            return self.error(403, "agent_mismatch")
        if mode == "test":
            self.sent_in_test += 1
            if self.sent_in_test > self.burst:
                return self.limited()
        if body.get("irreversible"):
            body = {"on_timeout": "hold", **body}
        receipt = self.receipt_of(self.store.add(agent, mode, body))
        return Reply(201, receipt, self.headers_of(receipt))

    def headers_of(self, receipt: dict[str, Any]) -> dict[str, str]:
        limits = {f"X-RateLimit-{name}": "50" for name in ("Limit", "Remaining", "Reset")}
        return {"Location": f"/wake/v1/response/{receipt['delivery_id']}", **limits}

    def may_claim(self, agent: str, claimed: str) -> bool:
        return agent == claimed

    def limited(self) -> Reply:
        reply = self.error(429, "rate_limited")
        reply.headers["Retry-After"] = "180"
        return reply

    def receipt_of(self, stored: Stored) -> dict[str, Any]:
        receipt = {
            "delivery_id": stored.id,
            "status": "received",
            "created_at": text_of(stored.created_at),
        }
        if stored.payload.get("irreversible"):
            receipt["on_timeout"] = stored.payload["on_timeout"]
        if stored.wants_digest:
            receipt |= {"digest": self.store.digest(stored), "nonce": stored.nonce}
            if seconds := stored.payload.get("claim_within_seconds"):
                receipt["claim_within_seconds"] = seconds
        return receipt

    def deliveries(self, request: Request, _: str) -> Reply:
        body = json.loads(request.body)
        wrong = [
            payloads.missing(each) or payloads.invalid(each, self.rules)
            for each in body["deliveries"]
        ]
        if body.get("atomic") and any(wrong):
            return self.error(422, "invalid_field")
        replies = [self.store_delivery(request.key, each) for each in body["deliveries"]]
        return Reply(
            200,
            {"results": [{"status_code": each.status, "body": each.body} for each in replies]},
        )

    def upload(self, request: Request, _: str) -> Reply:
        media_type = request.headers.get("content-type", "")
        if "svg" in media_type:
            return self.error(415, "unsupported_media_type")
        digest = hashlib.sha256(request.body).hexdigest()
        blob = self.blobs.setdefault(digest, {"blob_id": str(uuid.uuid4())})
        expires_at = self.store.clock.date() + timedelta(days=1)
        facts = {"size": len(request.body), "sha256": digest, "expires_at": text_of(expires_at)}
        return Reply(201, {**blob, "media_type": media_type, **facts})

    def find(self, request: Request, delivery_id: str) -> Stored | None:
        stored = self.store.deliveries.get(delivery_id)
        return stored if stored and (stored.agent, stored.mode) == KEYS[request.key] else None

    def response(self, request: Request, delivery_id: str) -> Reply:
        if not self.is_wait(request.one("wait")):
            return self.error(422, "invalid_wait")
        stored = self.find(request, delivery_id)
        if stored is None:
            return self.error(404, "not_found")
        return Reply(200, self.store.body_of(stored))

    def is_wait(self, text: str | None) -> bool:
        return text is None or (text.isdigit() and 1 <= int(text) <= 25)

    def responses(self, request: Request, _: str) -> Reply:
        statuses = set((request.one("status") or ",".join(STATUSES)).split(","))
        limit, since = request.one("limit") or self.default_limit, request.one("since")
        after = self.time(since) if since is not None else datetime.min.replace(tzinfo=UTC)
        is_valid = statuses <= STATUSES and limit.isdigit() and int(limit) > 0
        repeated = any(len(values) > 1 for values in request.query.values())
        if not is_valid or repeated or after is None or not self.is_wait(request.one("wait")):
            return self.error(422, "invalid_parameter")
        with self.store.lock:
            found = self.matching(request, after, statuses, request.one("agent_id"))
            page = found[: min(int(limit), 200)]
        return Reply(
            200,
            {
                "deliveries": [self.store.row(stored) for stored in page],
                "total": len(found),
                "has_more": len(found) > len(page),
                "next_since": text_of(page[-1].activity_at) if page else since,
            },
        )

    def time(self, text: str) -> datetime | None:
        try:
            time = datetime.fromisoformat(text.replace(" ", "+"))
        except ValueError:
            return None
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    def matching(
        self, request: Request, after: datetime, statuses: set[str], agent_id: str | None
    ) -> list[Stored]:
        return [
            stored
            for stored in sorted(self.store.deliveries.values(), key=lambda each: each.activity_at)
            if self.find(request, stored.id)
            and stored.activity_at > after
            and stored.status in statuses
            and agent_id in {None, stored.payload["agent_id"]}
        ]

    def withdraw(self, request: Request, delivery_id: str) -> Reply:
        stored = self.find(request, delivery_id)
        if stored is None:
            return self.error(404, "not_found")
        if stored.status != "pending":
            return self.error(409, "already_answered")
        if stored.withdrawn is None:
            reason = json.loads(request.body or b"{}").get("reason")
            stored.withdrawn = {
                "delivery_id": stored.id,
                "status": "withdrawn",
                "withdrawn_at": text_of(self.store.clock.date()),
                "reason": reason,
            }
        return Reply(200, stored.withdrawn)

    def claim(self, request: Request, delivery_id: str) -> Reply:
        stored = self.find(request, delivery_id)
        attempt = request.headers.get("idempotency-key")
        if stored is None:
            return self.error(404, "not_found")
        if stored.status not in {"approved", "redirected"}:
            return self.error(409, "not_approved", status=stored.status)
        if json.loads(request.body)["digest"] != self.store.digest(stored):
            return self.error(409, "digest_mismatch")
        if stored.claim and (attempt is None or attempt != stored.attempt):
            return self.error(409, "already_claimed")
        stored.attempt = attempt
        stored.claim = stored.claim or {
            "delivery_id": stored.id,
            "status": stored.status,
            "claimed_at": text_of(self.store.clock.date()),
            "claim_id": str(uuid.uuid4()),
        }
        return Reply(200, stored.claim)

    def outcome(self, request: Request, delivery_id: str) -> Reply:
        stored = self.find(request, delivery_id)
        status = json.loads(request.body).get("status")
        if stored is None:
            return self.error(404, "not_found")
        if status not in {"done", "failed", "skipped"}:
            return self.error(422 if status else 400, "invalid_field")
        at = text_of(self.store.clock.date())
        return Reply(201, {"delivery_id": stored.id, "status": status, "reported_at": at})

    def receipt(self, request: Request, delivery_id: str) -> Reply:
        stored = self.find(request, delivery_id)
        if stored is None:
            return self.error(404, "not_found")
        if stored.status == "pending":
            return self.error(409, "no_answer")
        if request.one("proof"):
            return self.error(409, "no_proof")
        text = receipts.receipt(stored)
        return Reply(200, text.encode(), content_type="application/sd-jwt")


@contextmanager
def listening(small: SmallServer) -> Iterator[str]:
    """Runs the server, and returns its origin."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536  # head and body in one packet: two would wait for each other

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = parse_qs(url.query, keep_blank_values=True)
            reply = small.handle(Request(self.command, unquote(url.path), query, headers, body))
            content = reply.content
            self.send_response(reply.status)
            more = {"Content-Type": reply.content_type, "Content-Length": str(len(content))}
            for name, value in {**more, **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else content)

        do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815 - named by http.server

        def log_message(self, format: str, *args: Any) -> None:
            """Writes nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
