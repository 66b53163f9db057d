"""Checks what the specification leaves open about HTTP, JSON and errors."""

from __future__ import annotations

import json
import uuid
from typing import Any

from wake_check.checks.expect import expect_error, expect_member, expect_status
from wake_check.checks.registry import judges
from wake_check.exchanges import Exchange
from wake_check.run import Run
from wake_check.server import OTHER, PREFIX
from wake_check.verdicts import Broken, NotJudged

DEFAULT_BODY_BYTES = 262_144
MAX_BODY_BYTES = 20_000_000


def _errors(run: Run) -> list[Exchange]:
    """Returns an answer with each usual error."""
    return [
        run.server.get("no-such-page"),
        run.server.get(f"response/{uuid.uuid4()}"),
        run.server.send("DELETE", "responses"),
        run.server.post("deliver", b"{}"),
        run.post(run.payload(type="poem")),
        run.server.send("GET", "responses", key=""),
    ]


@judges("self-description")
def self_description(run: Run) -> None:
    capabilities = expect_status(run.server.send("GET", "", key=""), 200)
    expect_member(capabilities, "protocol", "1.0")
    for name, kind in (("extensions", list), ("limits", dict)):
        if not isinstance(capabilities.members.get(name), kind):
            raise Broken(f"`{name}` is missing, or is no {kind.__name__}.", capabilities)
    openapi = expect_status(run.server.send("GET", "openapi.json", key=""), 200)
    if not str(openapi.members.get("openapi", "")).startswith("3.1"):
        raise Broken("The document is not OpenAPI 3.1.", openapi)
    schema = expect_status(run.server.send("GET", "schema.json", key=""), 200)
    if "$schema" not in schema.members:
        raise Broken("The document is no JSON Schema.", schema)


@judges("deliver-location")
def location(run: Run) -> None:
    receipt = run.shared()
    path = f"{PREFIX}/response/{receipt.members['delivery_id']}"
    found = receipt.answer_headers.get("location", "")
    if found.removeprefix(run.server.origin) != path:
        raise Broken(f"`Location` is {found!r}, and not {path!r}.", receipt)


@judges("doubled-prefix")
def doubled_prefix(run: Run) -> None:
    exchange = expect_status(run.server.post(f"{PREFIX}{PREFIX}/deliver", b"{}"), 404)
    if PREFIX not in exchange.answer.decode(errors="replace"):
        raise Broken(f"The error does not say that {PREFIX} is there twice.", exchange)


@judges("slash")
def slash(run: Run) -> None:
    delivery_id = run.shared().members["delivery_id"]
    body = json.dumps(run.payload(what="sent with a slash")).encode()
    for exchange, wanted in (
        (run.server.post("deliver/", body), 201),
        (run.server.get(f"response/{delivery_id}/"), 200),
        (run.server.get("responses/"), 200),
    ):
        expect_status(exchange, wanted, why="the path ends with a slash")


@judges("json-errors")
def json_errors(run: Run) -> None:
    refused = [exchange for exchange in _errors(run) if exchange.status >= 400]
    if not refused:
        raise NotJudged("The server refuses nothing.")
    for exchange in refused:
        if not exchange.is_json or not exchange.members:
            raise Broken("The error is no JSON object.", exchange)


@judges("error-shape")
def error_shape(run: Run) -> None:
    for exchange in _json_errors(run):
        error = exchange.members.get("error")
        if not isinstance(error, dict) or not {"code", "message"} <= error.keys():
            raise Broken("The error has no `error` with `code` and `message`.", exchange)
    refused = run.post(run.payload(type="poem", headline=""))
    error = refused.members.get("error")
    fields = error.get("fields") if isinstance(error, dict) else None
    named = [row.get("field") for row in fields or [] if isinstance(row, dict)]
    if not {"type", "headline"} <= set(named):
        raise Broken("`fields` does not name each invalid field.", refused)


@judges("error-no-status")
def error_no_status(run: Run) -> None:
    for exchange in _json_errors(run):
        if "status" in exchange.members:
            raise Broken("The error has a top-level `status`.", exchange)


def _json_errors(run: Run) -> list[Exchange]:
    """Returns the errors that are JSON. The check json-errors reports the others."""
    errors = [each for each in _errors(run) if each.status >= 400 and each.members]
    if not errors:
        raise NotJudged("The server has no errors in JSON.")
    return errors


@judges("agent-mismatch")
def agent_mismatch(run: Run) -> None:
    claimed = run.post(run.payload(agent_id=f"no-agent-{run.name}"))
    expect_error(claimed, 403, "agent_mismatch", why="the id of another agent")


@judges("rate-headers")
def rate_headers(run: Run) -> None:
    receipt = run.shared()
    for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"):
        if not receipt.answer_headers.get(name, "").isdigit():
            raise Broken(f"`{name}` is missing, or is no number.", receipt)


@judges("no-head")
def no_head(run: Run) -> None:
    path = f"response/{run.shared().members['delivery_id']}"
    expect_status(run.server.send("HEAD", path), 405, why="HEAD")


@judges("method")
def method(run: Run) -> None:
    for verb, path in (("PUT", "deliver"), ("DELETE", "responses"), ("GET", "deliver")):
        expect_status(run.server.send(verb, path), 405, why=f"{verb} /wake/v1/{path}")


@judges("unknown-delivery")
def unknown_delivery(run: Run) -> None:
    polls = [
        run.server.get(f"response/{delivery_id}")
        for delivery_id in (uuid.uuid4(), uuid.UUID(int=0), "17", "no-such-delivery")
    ]
    if run.server.keys[OTHER]:
        delivery_id = run.shared().members["delivery_id"]
        polls.append(run.server.get(f"response/{delivery_id}", key=OTHER))
    for poll in polls:
        expect_status(poll, 404)
        if poll.answer != polls[0].answer:
            raise Broken("The bodies of two 404 differ.", poll)


@judges("json-strict")
def json_strict(run: Run) -> None:
    body = json.dumps(run.payload(details={"x": "VALUE"}))
    values = {
        "NaN": "NaN",
        "an infinity": "-Infinity",
        "a number out of range": "1e400",
        "U+0000": '"\\u0000"',
        "a lone surrogate": '"\\ud800"',
        "nesting of 100": "[" * 100 + "]" * 100,
        "nesting of 100,000": "[" * 100_000 + "]" * 100_000,
        "a duplicate key": '{"a": 1, "a": 2}',
    }
    for what, value in values.items():
        text = body.replace('"VALUE"', value)
        exchange = run.server.post("deliver", text.encode())
        expect_status(exchange, 400, 413, 422, why=f"the JSON has {what}")
    twice = body[:-1] + ', "headline": "Another headline"}'
    expect_status(
        run.server.post("deliver", twice.encode()), 400, 422, why="headline is there twice"
    )


@judges("json-any-type")
def json_any_type(run: Run) -> None:
    body = json.dumps(run.payload(what="as curl -d sends it")).encode()
    form = "application/x-www-form-urlencoded"
    expect_status(run.server.post("deliver", body, content_type=form), 201, why=form)


@judges("fields-strict")
def fields_strict(run: Run) -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {"timeout_seconds": True},
        {"timeout_seconds": 60.5},
        {"timeout_seconds": 3600.0},
        {"headline": 17},
        {"provider": ["claude"]},
        {"provider": "p" * 129},
        {"headline": "two\nlines"},
    )
    for fields in wrong:
        expect_status(run.post(run.payload(**fields)), 422, why=str(fields)[:60])


@judges("fields-blank")
def fields_blank(run: Run) -> None:
    for name in ("headline", "summary"):
        for text in ("", "   ", "\u200b\u2060"):
            expect_status(run.post(run.payload(**{name: text})), 400, 422, why=f"{name} is blank")


@judges("fields-unknown")
def fields_unknown(run: Run) -> None:
    body = run.payload(what="with an unknown field", x_wake_check={"kept": [1, None]})
    expect_status(run.post(body), 201, why="a field is unknown")


@judges("body-limit")
def body_limit(run: Run) -> None:
    declared = run.limit("body_bytes")
    limit = declared if isinstance(declared, int) else DEFAULT_BODY_BYTES
    size = min(limit, MAX_BODY_BYTES) + 1
    expect_status(run.post(run.payload(details="d" * size)), 413, why=f"{size} bytes of details")
