"""Checks the extensions that prove and use an approval."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any

from wake_check.checks.answers import approved, rejected
from wake_check.checks.expect import expect_error, expect_member, expect_status, expect_time
from wake_check.checks.registry import judges
from wake_check.exchanges import Exchange
from wake_check.run import Run, Steps
from wake_check.verdicts import Broken, NotJudged

DIGESTED: dict[str, Any] = {"details": {"a": [1, "ü/"]}, "digest": True}
KEYS_PATH = "/.well-known/wake-keys.json"


@judges("extension-digest")
def digest(run: Run) -> Steps:
    receipt = expect_status(_digested(run), 201)
    body = json.loads(receipt.content)
    expect_member(receipt, "digest", _digest(body, receipt))
    plain = run.shared()
    if {"digest", "nonce"} & plain.members.keys():
        raise Broken("A delivery that asks for no digest gets one.", plain)
    episode = approved(run)
    yield run.until(lambda: episode.is_over)
    for name in ("digest", "nonce"):
        expect_member(episode.answer(), name, episode.delivered.members.get(name))


def _digested(run: Run) -> Exchange:
    return run.sample("has a digest", **DIGESTED)


def _digest(body: dict[str, Any], receipt: Exchange) -> str:
    """Returns SHA-256 over the canonical form. For members with ASCII names, and without numbers
    that are no integers, sorted compact JSON is the form of RFC 8785."""
    details = body.get("details")
    members = {
        "nonce": receipt.members.get("nonce"),
        **{name: body[name] for name in ("agent_id", "type", "headline", "summary")},
        # As sent: Server.post() writes the body with json.dumps, too.
        "details": None if details is None else json.dumps(details),
        "assumption": body.get("assumption"),
        "timeout_seconds": body.get("timeout_seconds"),
        "supersedes": body.get("supersedes"),
        "on_timeout": receipt.members.get("on_timeout", body.get("on_timeout")),
        "quorum": receipt.members.get("quorum", body.get("quorum")),
        "irreversible": body.get("irreversible", False),
        "files": receipt.members.get("files", []),
    }
    text = json.dumps(members, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _claim(run: Run, delivery_id: str, digest: Any, *, attempt: str = "") -> Exchange:
    headers = {"idempotency_key": attempt} if attempt else {}
    return run.server.post(f"claim/{delivery_id}", {"digest": digest}, **headers)


@judges("extension-claim")
def claim(run: Run) -> Steps:
    episode = run.episode("claimed", {"status": "approved"}, type="question", digest=True)
    yield run.until(lambda: episode.is_over)
    episode.answer()
    digest = episode.delivered.members.get("digest")
    wrong = _claim(run, episode.delivery_id, "0" * 64)
    expect_error(wrong, 409, "digest_mismatch", why="another digest")
    attempt = secrets.token_hex(16)
    used = expect_status(_claim(run, episode.delivery_id, digest, attempt=attempt), 200)
    expect_member(used, "status", "approved")
    expect_time(used, "claimed_at", used.members.get("claimed_at"))
    same = expect_status(_claim(run, episode.delivery_id, digest, attempt=attempt), 200)
    expect_member(same, "claim_id", used.members.get("claim_id"))
    second = _claim(run, episode.delivery_id, digest, attempt=secrets.token_hex(16))
    expect_error(second, 409, "already_claimed", why="the approval was used before")


@judges("extension-claim-unapproved")
def claim_unapproved(run: Run) -> Steps:
    delivered = run.shared("has a digest", **DIGESTED)
    early = _claim(run, delivered.members["delivery_id"], delivered.members.get("digest"))
    expect_error(early, 409, "not_approved", why="the delivery is pending")
    episode = rejected(run)
    yield run.until(lambda: episode.is_over)
    episode.answer()
    refused = _claim(run, episode.delivery_id, episode.delivered.members.get("digest"))
    expect_error(refused, 409, "not_approved", why="the delivery is rejected")


@judges("extension-claim-within-seconds")
def claim_within_seconds(run: Run) -> None:
    for wrong in (59, 604_801, "60"):
        refused = run.post(run.payload(claim_within_seconds=wrong))
        expect_status(refused, 422, why=f"claim_within_seconds is {wrong!r}")
    body = run.payload(claim_within_seconds=60, digest=True, what="is claimed within a minute")
    receipt = expect_status(run.post(body), 201)
    expect_member(receipt, "claim_within_seconds", 60)


@judges("extension-outcome")
def outcome(run: Run) -> None:
    delivery_id = run.shared().members["delivery_id"]
    path = f"outcome/{delivery_id}"
    expect_status(run.server.post(path, {"status": "approved"}), 422, why="status is approved")
    expect_status(run.server.post(path, {}), 400, why="status is missing")
    report = run.server.post(path, {"status": "done", "summary": "Refund sent."})
    expect_status(report, 201)
    expect_member(report, "delivery_id", delivery_id)
    expect_member(report, "status", "done")
    expect_time(report, "reported_at", report.members.get("reported_at"))
    expect_member(run.poll(delivery_id), "status", "pending")


@judges("extension-receipt")
def receipt(run: Run) -> Steps:
    pending = run.shared().members["delivery_id"]
    expect_error(run.server.get(f"receipt/{pending}"), 409, "no_answer", why="no one has answered")
    episode = rejected(run)
    yield run.until(lambda: episode.is_over)
    answer = episode.answer()
    shown = expect_status(run.server.get(f"receipt/{episode.delivery_id}"), 200)
    if not shown.answer_headers.get("content-type", "").startswith("application/sd-jwt"):
        raise Broken("Content-Type is not application/sd-jwt.", shown)
    if run.server.get(f"receipt/{episode.delivery_id}").answer != shown.answer:
        raise Broken("The same request returns other bytes.", shown)
    token, *disclosures = shown.answer.decode(errors="replace").strip().split("~")
    header, claims = _parts(shown, token)
    expect_member(shown, "delivery_id", episode.delivery_id, of=claims)
    expect_member(shown, "status", answer.members["status"], of=claims)
    hashes = claims.get("_sd", [])
    for disclosure in filter(None, disclosures):
        hashed = hashlib.sha256(disclosure.encode()).digest()
        if base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() not in hashes:
            raise Broken("A disclosure does not belong to the receipt.", shown)
    keys = run.server.send("GET", KEYS_PATH, key="")
    if str(header.get("kid")) not in [str(row.get("kid")) for row in _keys(keys)]:
        raise Broken(f"{KEYS_PATH} does not have the key of the receipt.", keys)


def _parts(shown: Exchange, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        head, body, _ = (base64.urlsafe_b64decode(f"{part}==") for part in token.split("."))
        header, claims = json.loads(head), json.loads(body)
    except ValueError:
        raise Broken("The receipt is no SD-JWT.", shown) from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise Broken("The receipt is no SD-JWT.", shown)
    return header, claims


def _keys(exchange: Exchange) -> list[dict[str, Any]]:
    keys = exchange.members.get("keys")
    return [row for row in keys if isinstance(row, dict)] if isinstance(keys, list) else []


@judges("extension-proof")
def proof(run: Run) -> Steps:
    if "receipt" not in run.extensions:
        raise NotJudged("The server does not declare receipts.")
    episode = rejected(run)
    yield run.until(lambda: episode.is_over)
    episode.answer()
    shown = run.server.get(f"receipt/{episode.delivery_id}", proof=1)
    if shown.status == 409:
        expect_error(shown, 409, "no_proof")
        return
    expect_status(shown, 200)
    if not shown.answer_headers.get("content-type", "").startswith("text/plain"):
        raise Broken("Content-Type is not text/plain.", shown)
    if not shown.answer.startswith(b"c2sp.org/tlog-proof@v1"):
        raise Broken("The answer is no tlog-proof.", shown)
