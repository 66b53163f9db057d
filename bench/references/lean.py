"""Serves delivery, poll and sweep from one lean Django file, the reference of `make bench`.

The file has only the duties of the three hot paths: plain views, SQL by hand, no middleware,
granian's own threads. A key is found by its digest, and must be usable. The last use of a key is
stored once a minute. The read limit counts. JSON is strict, and every field is checked. The agent
is locked and has a cursor. The quota is in the key's row. The delivery and its audit event are
stored in one transaction. An answer is stamped as picked up before it is sent. Due answers are
released before a sweep. A connection is checked before it is used. Wake imports nothing from this
file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

URL = urlsplit(os.environ["DATABASE_URL"])
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    SECRET_KEY=uuid.uuid4().hex,
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": URL.path.lstrip("/"),
            "USER": URL.username,
            "PASSWORD": URL.password or "",
            "HOST": URL.hostname,
            "PORT": URL.port or "",
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {
                "pool": {"min_size": 1, "max_size": int(os.environ["WAKE_DATABASE_CONNECTIONS"])},
                "server_side_binding": True,
                "prepare_threshold": 5,
            },
        }
    },
)

from django.core.wsgi import get_wsgi_application  # noqa: E402 - settings first

application = get_wsgi_application()

from django.db import connection, transaction  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402
from psycopg.types.json import Jsonb  # noqa: E402

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INTERVAL, BURST = 36, 1_000_000  # of the quota: microseconds for each delivery, and the burst
READS_A_MINUTE = 1_000_000
LIMITS = {"agent_id": 128, "provider": 128, "headline": 120, "summary": 280}
TYPES = {"update", "question", "output", "alert"}
KNOWN = {*LIMITS, "type", "details", "timeout_seconds"}
reads: Counter[tuple[uuid.UUID, int]] = Counter()

KEY = """
    SELECT k.id, k.lane, k.hint, k.last_used_at, a.id, a.agent_id, a.team_id, statement_timestamp()
    FROM accounts_apikey k JOIN accounts_agent a ON a.id = k.agent_id
    WHERE k.digest = %s AND k.revoked_at IS NULL AND a.paused_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())
"""
ANSWER = """
    SELECT d.id, d.expires_at, d.status, d.activity_at, r.feedback, r.edited_json, r.answered_at,
        r.responded_at, r.picked_up_at, r.id
    FROM wake_delivery d LEFT JOIN wake_response r ON r.delivery_id = d.id
    WHERE d.agent_id = %s AND d.lane = %s AND NOT d.relayed
"""


class Problem(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def with_key(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def checked(request: HttpRequest, **parts: Any) -> HttpResponse:
        try:
            scheme, _, text = request.headers.get("Authorization", "").partition(" ")
            digest = hashlib.sha256(text.encode()).hexdigest()
            key = one_row(KEY, [digest]) if scheme == "Bearer" else None
            if key is None:
                raise Problem(401, "A valid key is needed.")  # noqa: TRY301 - one place answers
            if key[3] is None or key[3] < key[7] - timedelta(minutes=1):
                execute(
                    "UPDATE accounts_apikey SET last_used_at = %s WHERE id = %s", [key[7], key[0]]
                )
            response = view(request, key, **parts)
        except Problem as problem:
            response = as_json({"error": {"message": str(problem)}}, status=problem.status)
        response["Content-Length"] = str(len(response.content))
        return response

    return checked


@with_key
def deliver(request: HttpRequest, key: Sequence[Any]) -> HttpResponse:
    fields, text = checked_fields(request.body)
    _, mode, hint, _, agent, agent_id, team, now = key
    if fields["agent_id"] != agent_id:
        raise Problem(403, "This key belongs to another agent.")
    now_us = (now - EPOCH) // timedelta(microseconds=1)
    delivery = uuid.uuid4()
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    with transaction.atomic():
        stamp = one_row(
            "UPDATE accounts_agent SET activity_us = GREATEST(activity_us + 1, %s) WHERE id = %s"
            " RETURNING activity_us",
            [now_us, agent],
        )
        spent = one_row(
            "UPDATE accounts_apikey SET quota_us = GREATEST(quota_us, %s) + %s"
            " WHERE id = %s AND quota_us <= %s AND revoked_at IS NULL RETURNING quota_us",
            [now_us, INTERVAL, key[0], now_us + (BURST - 1) * INTERVAL],
        )
        if stamp is None or spent is None:
            raise Problem(429, "Too many requests for now.")
        at = EPOCH + timedelta(microseconds=stamp[0])
        timeout = fields.get("timeout_seconds")
        details = json.dumps(fields["details"]) if fields.get("details") is not None else None
        extensions = {name: fields[name] for name in fields.keys() - KNOWN}
        execute(
            "INSERT INTO wake_delivery (id, team_id, agent_id, key_hint, lane, claimed_agent_id,"
            " provider, type, headline, summary, details_json, callback_webhook, timeout_seconds,"
            " assumption, on_timeout, thread, extensions, content_hash, idempotency_hash,"
            " created_at, expires_at, activity_at, status, acknowledged_by) VALUES (%s, %s, %s, %s,"
            " %s, %s, %s, %s, %s, %s, %s, '', %s, '', '', '', %s, %s, '', %s, %s, %s, 'pending',"
            " '')",
            [
                *(delivery, team, agent, hint, mode, agent_id, fields["provider"], fields["type"]),
                *(fields["headline"], fields["summary"], details, timeout, Jsonb(extensions)),
                *(content_hash, at, at + timedelta(seconds=timeout) if timeout else None, at),
            ],
        )
        execute(
            "INSERT INTO accounts_auditevent (at, team_id, event, actor_kind, actor_id, actor_name,"
            " object_kind, object_id, object_name, address, detail) VALUES (%s, %s,"
            " 'delivery.received', 'agent', %s, %s, 'delivery', %s, '', %s, %s)",
            [
                *(at, team, str(agent), agent_id, str(delivery), request.META["REMOTE_ADDR"]),
                Jsonb({"type": fields["type"], "key": hint, "content_hash": content_hash}),
            ],
        )
    receipt = {"delivery_id": str(delivery), "status": "received", "created_at": instant(at)}
    full_in = max(0, spent[0] - now_us)
    headers = {
        "Location": f"/wake/v1/response/{delivery}",
        "X-RateLimit-Limit": str(BURST),
        "X-RateLimit-Remaining": str((BURST * INTERVAL - full_in) // INTERVAL),
        "X-RateLimit-Reset": str(int(now.timestamp()) + full_in // 1_000_000),
    }
    return as_json(receipt, status=201, headers=headers)


@with_key
def poll(request: HttpRequest, key: Sequence[Any], delivery: uuid.UUID) -> HttpResponse:
    count_read(key)
    rows = all_rows(ANSWER + " AND d.id = %s", [key[4], key[1], delivery])
    if not rows:
        raise Problem(404, "There is nothing here for this key.")
    pick_up(rows, key, "poll")
    return as_json(answer(rows[0], key[7]))


@with_key
def sweep(request: HttpRequest, key: Sequence[Any]) -> HttpResponse:
    count_read(key)
    try:
        since = datetime.fromisoformat(request.GET["since"]) if "since" in request.GET else EPOCH
        limit = max(1, min(200, int(request.GET.get("limit", 50))))
    except ValueError:
        raise Problem(422, "since or limit is invalid.") from None
    if one_row(
        "SELECT 1 FROM wake_response r JOIN wake_delivery d ON d.id = r.delivery_id WHERE"
        " d.agent_id = %s AND r.responded_at IS NULL AND r.release_at <= %s LIMIT 1",
        [key[4], key[7]],
    ):
        raise Problem(500, "The bench has no answers to release.")
    rows = all_rows(
        ANSWER + " AND d.activity_at > %s ORDER BY d.activity_at LIMIT %s",
        [key[4], key[1], since, limit + 1],
    )
    page = rows[:limit]
    pick_up(page, key, "sweep")
    total = len(page)
    if len(rows) > limit:
        counted = one_row(
            "SELECT COUNT(*) FROM (SELECT 1 FROM wake_delivery d WHERE d.agent_id = %s AND d.lane ="
            " %s AND NOT d.relayed AND d.activity_at > %s LIMIT 10000) AS counted",
            [key[4], key[1], since],
        )
        total = counted[0] if counted else 0
    return as_json(
        {
            "deliveries": [answer(row, key[7]) for row in page],
            "total": total,
            "has_more": len(rows) > limit,
            "next_since": instant(page[-1][3]) if page else request.GET.get("since"),
        }
    )


urlpatterns = [
    path("wake/v1/deliver", deliver),
    path("wake/v1/response/<uuid:delivery>", poll),
    path("wake/v1/responses", sweep),
]


def checked_fields(body: bytes) -> tuple[dict[str, Any], str]:
    try:
        text = body.decode()
        fields = json.loads(text, object_pairs_hook=no_twins, parse_constant=refuse)
        text.encode("utf-8", "strict")
    except (ValueError, RecursionError) as error:
        raise Problem(400, str(error)) from None
    if not isinstance(fields, dict):
        raise Problem(400, "The body must be a JSON object.")
    for name, most in LIMITS.items():
        value = fields.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= most or not value.isprintable():
            raise Problem(422, name)
    seconds = fields.get("timeout_seconds")
    if seconds is not None and (type(seconds) is not int or not 60 <= seconds <= 604_800):
        raise Problem(422, "timeout_seconds")
    if fields.get("type") not in TYPES or not isinstance(
        fields.get("details"), dict | str | type(None)
    ):
        raise Problem(422, "type or details")
    return fields, text


def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("A key is there twice.")
    return members


def refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON.")


def count_read(key: Sequence[Any]) -> None:
    minute = (key[0], int(time.time() // 60))
    reads[minute] += 1
    if reads[minute] > READS_A_MINUTE:
        raise Problem(429, "Too many requests for now.")


def pick_up(rows: list[Any], key: Sequence[Any], route: str) -> None:
    fresh = [row[9] for row in rows if row[7] is not None and row[8] is None]
    if fresh:
        execute(
            "UPDATE wake_response SET picked_up_at = %s, sent_at = COALESCE(sent_at, %s),"
            " picked_up_by = %s WHERE id = ANY(%s) AND picked_up_at IS NULL",
            [key[7], key[7], route, fresh],
        )


def answer(row: Sequence[Any], now: datetime) -> dict[str, Any]:
    delivery, expires_at, status, _, feedback, edited, answered_at, responded_at, _, _ = row
    is_released = responded_at is not None
    return {
        "delivery_id": str(delivery),
        "status": status if is_released else "pending",
        "feedback": (feedback or None) if is_released else None,
        "edited_content": json.loads(edited) if is_released and edited is not None else None,
        "responded_at": instant(responded_at),
        "expires_at": instant(expires_at),
        "expired": expires_at is not None and (responded_at or now) >= expires_at,
        "late": bool(is_released and expires_at and answered_at >= expires_at),
        "erased": False,
    }


def as_json(value: Any, **options: Any) -> HttpResponse:
    return HttpResponse(json.dumps(value), content_type="application/json", **options)


def instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def one_row(sql: str, params: Sequence[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchone()


def all_rows(sql: str, params: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def execute(sql: str, params: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
