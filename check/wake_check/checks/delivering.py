"""Checks POST /wake/v1/deliver."""

from __future__ import annotations

import uuid
from typing import Any

from wake_check.checks.expect import expect_member, expect_status, expect_time
from wake_check.checks.registry import judges, judges_last
from wake_check.run import PLAIN, Run
from wake_check.verdicts import Broken, NotJudged

REQUIRED = ("agent_id", "provider", "type", "headline", "summary")
MALFORMED = {
    "an unclosed object": b'{"agent_id": "a"',
    "no JSON": b"agent_id=a",
    "a list": b"[]",
    "a text": b'"text"',
    "an empty body": b"",
    "bytes that are no UTF-8": b'{"agent_id": "\xff"}',
}
UNKNOWN_HOST = "https://not-allowed.wake-check.invalid/callback"


@judges("deliver-created")
def created(run: Run) -> None:
    exchange = expect_status(run.sample(PLAIN), 201)
    if not exchange.is_json:
        raise Broken("The answer is no application/json.", exchange)
    if not isinstance(exchange.members.get("delivery_id"), str):
        raise Broken("`delivery_id` is missing, or is no text.", exchange)
    expect_member(exchange, "status", "received")
    if "created_at" not in exchange.members:
        raise Broken("`created_at` is missing.", exchange)


@judges("deliver-path")
def versioned_path(run: Run) -> None:
    exchange = run.server.post("deliver", b"{}")
    if exchange.status in {404, 405} or not 400 <= exchange.status < 500:
        raise Broken("Nothing takes deliveries at /wake/v1/deliver.", exchange)


@judges_last("delivery-id-random")
def random_ids(run: Run) -> None:
    receipts = [exchange for exchange in run.bodies if exchange.status == 201]
    if not receipts:
        raise NotJudged("No delivery was accepted.")
    seen: dict[str, Any] = {}
    for receipt in receipts:
        text = str(receipt.members.get("delivery_id"))
        try:
            version = uuid.UUID(text).version
        except ValueError:
            version = None
        if version != 4 or len(text) != 36:
            raise Broken(f"`delivery_id` is {text!r}, and no UUID of version 4.", receipt)
        is_replay = "idempotency-key" in receipt.headers
        if text in seen and not is_replay:
            raise Broken(f"Two deliveries have the id {text}.", receipt)
        seen[text] = receipt


@judges("deliver-types")
def types(run: Run) -> None:
    for type_ in ("update", "question", "alert"):
        expect_status(run.sample(f"type {type_}", type=type_), 201, why=f"type {type_}")
    expect_status(run.sample(PLAIN), 201, why="type output")


@judges("deliver-unknown-type")
def unknown_type(run: Run) -> None:
    for value in ("poem", "Question", ["update"]):
        expect_status(run.post(run.payload(type=value)), 422, why=f"type is {value!r}")


@judges("deliver-required-fields")
def required_fields(run: Run) -> None:
    for name in REQUIRED:
        expect_status(run.post(run.payload(**{name: ...})), 400, why=f"{name} is missing")


@judges("deliver-malformed")
def malformed(run: Run) -> None:
    for what, body in MALFORMED.items():
        expect_status(run.server.post("deliver", body), 400, why=f"the body is {what}")


@judges("deliver-headline-length")
def headline_length(run: Run) -> None:
    expect_status(run.post(run.payload(headline="h" * 121)), 422, why="121 characters")
    expect_status(run.post(run.payload(headline="ü" * 120)), 201, why="120 characters")


@judges("deliver-summary-length")
def summary_length(run: Run) -> None:
    expect_status(run.post(run.payload(summary="s" * 281)), 422, why="281 characters")
    body = run.payload(summary="ß" * 280, what="a summary of 280 characters")
    expect_status(run.post(body), 201, why="280 characters")


@judges("deliver-agent-id-length")
def agent_id_length(run: Run) -> None:
    expect_status(run.post(run.payload(agent_id="a" * 129)), 422, why="129 characters")


@judges("deliver-details")
def details(run: Run) -> None:
    for value in ({"sections": ["Findings"], "words": 3200}, "A text.\nTwo lines."):
        body = run.payload(details=value, what="details")
        expect_status(run.post(body), 201, why=f"details is {value!r}")
    for wrong in (17, True, ["a list"]):
        expect_status(run.post(run.payload(details=wrong)), 422, why=f"details is {wrong!r}")


@judges("deliver-timeout-range")
def timeout_range(run: Run) -> None:
    for seconds in (59, 604_801, 0, -60, "3600"):
        expect_status(
            run.post(run.payload(timeout_seconds=seconds)), 422, why=f"{seconds!r} seconds"
        )
    body = run.payload(timeout_seconds=604_800, what="the longest time-out")
    expect_status(run.post(body), 201, why="604800 seconds")


@judges("deliver-webhook-https")
def webhook_https(run: Run) -> None:
    for url in ("http://not-allowed.wake-check.invalid/", "not a url", "ftp://example.com/", 17):
        expect_status(run.post(run.payload(callback_webhook=url)), 422, why=f"the URL is {url!r}")


@judges("deliver-webhook-allowlist")
def webhook_allowlist(run: Run) -> None:
    """The sentence allows a refusal at the delivery or at the dispatch. The table of errors of the
    specification has the first: 422 for an invalid webhook URL, which "must match allowlist"."""
    exchange = run.post(run.payload(callback_webhook=UNKNOWN_HOST))
    expect_status(exchange, 422, why="the host is on no allowlist")


@judges_last("times-iso-8601")
def times(run: Run) -> None:
    judged = 0
    for exchange in run.bodies:
        members = exchange.members
        rows = members.get("deliveries", [members])
        for row in rows if isinstance(rows, list) else []:
            for name in ("created_at", "responded_at"):
                if isinstance(row, dict) and row.get(name) is not None:
                    expect_time(exchange, name, row[name])
                    judged += 1
    if not judged:
        raise NotJudged("The run has seen no times.")
