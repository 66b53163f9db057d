"""Checks GET /wake/v1/response/{delivery_id}, and the answers of people."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from wake_check.checks.expect import (
    ANSWER_KEYS,
    expect_member,
    expect_status,
    expect_time,
    time_of,
)
from wake_check.checks.registry import judges, judges_last
from wake_check.episodes import Episode, SlowPoll
from wake_check.exchanges import Exchange
from wake_check.run import Run, Steps
from wake_check.verdicts import Broken, NotJudged

STATUSES = {"pending", "approved", "rejected", "redirected"}
BRIEF = {"title": "Market report", "sections": ["Findings", "Prices"]}
EDITED = {"title": "Market report", "sections": ["Findings"]}
APPROVED = {"status": "approved", "feedback": "Great work."}
REJECTED = {"status": "rejected", "feedback": "Not this week."}
REDIRECTED = {"status": "redirected", "feedback": "Cut the prices.", "edited_content": EDITED}
# The shortest time-out of the specification, and a moment more.
WINDOW_SECONDS = 60
OVER_SECONDS = WINDOW_SECONDS + 2
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script> is shown as text"
SECOND = "(It is answered already. If you can answer again, do so; otherwise say no.)"
EXPIRING = "expires unanswered"


def approved(run: Run) -> Episode:
    """Returns a delivery that is approved, whose content has a digest if the server has digests."""
    return run.episode("approved", APPROVED, type="question", **_with_digest(run))


def rejected(run: Run) -> Episode:
    return run.episode("rejected", REJECTED, **_with_digest(run))


def _with_digest(run: Run) -> dict[str, Any]:
    return {"digest": True} if "digest" in run.extensions else {}


def redirected(run: Run) -> Episode:
    return run.episode("redirected", REDIRECTED, details=BRIEF)


def expiring(run: Run) -> Exchange:
    """Returns the receipt of a delivery that no one answers before its deadline."""
    return run.shared(EXPIRING, timeout_seconds=WINDOW_SECONDS)


@judges("response-pending")
def pending(run: Run) -> None:
    delivery_id = run.shared().members["delivery_id"]
    poll = expect_status(run.poll(delivery_id), 200)
    expect_member(poll, "delivery_id", delivery_id)
    expect_member(poll, "status", "pending")
    for name in ("feedback", "edited_content", "responded_at"):
        expect_member(poll, name, None)


@judges("response-approved")
def is_approved(run: Run) -> Steps:
    yield from _judge(run, approved(run))


@judges("response-rejected")
def is_rejected(run: Run) -> Steps:
    yield from _judge(run, rejected(run))


@judges("response-redirected")
def is_redirected(run: Run) -> Steps:
    yield from _judge(run, redirected(run))


@judges("response-update")
def update_is_answered(run: Run) -> Steps:
    yield from _judge(run, _update(run))


def _update(run: Run) -> Episode:
    return run.episode("update", {"status": "approved"}, type="update")


def _judge(run: Run, episode: Episode) -> Steps:
    yield run.until(lambda: episode.is_over)
    poll = expect_status(episode.judged_answer(), 200)
    wanted = {"feedback": None, "edited_content": None, **episode.wanted}
    expect_member(poll, "delivery_id", episode.delivery_id)
    expect_member(poll, "status", wanted["status"])
    expect_member(poll, "feedback", wanted["feedback"])
    if wanted["status"] == "redirected":
        expect_member(poll, "edited_content", wanted["edited_content"])
    elif "edited_content" not in poll.members:
        raise Broken("`edited_content` is missing.", poll)
    if poll.members.get("responded_at") is None:
        raise Broken("`responded_at` is missing, or null.", poll)


@judges("edit-only-redirected")
def edit_only_redirected(run: Run) -> Steps:
    episodes = [approved(run), rejected(run)]
    yield run.until(lambda: all(episode.is_over for episode in episodes))
    for episode in episodes:
        expect_member(episode.answer(), "edited_content", None)


@judges("first-answer-counts")
def first_answer_counts(run: Run) -> Steps:
    episode = _update(run)
    yield run.until(lambda: episode.is_over)
    episode.answer()
    second = run.ask(episode.delivery_id, f"{episode.headline} {SECOND}", {"status": "rejected"})
    yield run.until(lambda: second.is_done)
    if not second.is_done:
        raise NotJudged("The person did not try to answer a second time.")
    poll = run.poll(episode.delivery_id)
    if poll.members.get("status") != "approved" or second.is_granted:
        raise Broken("A second answer replaced the first one.", poll)


@judges("response-stays-pending")
def stays_pending(run: Run) -> Steps:
    delivery_id = expiring(run).members["delivery_id"]
    yield run.after(OVER_SECONDS - run.seconds_since(EXPIRING))
    poll = expect_status(run.poll(delivery_id), 200)
    expect_member(poll, "status", "pending")
    expect_member(poll, "responded_at", None)


@judges("extension-expires-at")
def expires_at(run: Run) -> Steps:
    receipt = expiring(run)
    delivery_id = receipt.members["delivery_id"]
    before = run.poll(delivery_id)
    expect_member(before, "expired", value=False)
    expect_member(before, "late", value=False)
    ends = expect_time(before, "expires_at", before.members.get("expires_at"))
    created = time_of(receipt.members.get("created_at"))
    if created and ends - created != timedelta(seconds=WINDOW_SECONDS):
        raise Broken(f"`expires_at` is not {WINDOW_SECONDS} seconds after `created_at`.", before)
    yield run.after(OVER_SECONDS - run.seconds_since(EXPIRING))
    expect_member(run.poll(delivery_id), "expired", value=True)
    headline = json.loads(receipt.content)["headline"]
    wish = run.ask(delivery_id, headline, {"status": "approved"})
    yield run.until(lambda: wish.is_done)
    if not wish.is_granted:
        raise NotJudged(f"No one answered after the deadline: {wish.reason}")
    yield run.until(SlowPoll(run, delivery_id).has_answer)
    late = run.poll(delivery_id)
    expect_member(late, "status", "approved")
    expect_member(late, "late", value=True)
    expect_member(late, "expired", value=True)


@judges("untrusted-content")
def untrusted_content(run: Run) -> Steps:
    receipt = run.shared("with markup", headline=MARKUP, details={"text": MARKUP})
    wish = run.look(receipt.members["delivery_id"], MARKUP)
    yield run.until(lambda: wish.is_done)
    if not wish.is_granted:
        raise NotJudged(wish.reason or "The person did not look in time.")
    if wish.answer.get("is_text") is not True:
        raise Broken("The page does not show the markup of an agent as text.", receipt)


@judges("extension-erased")
def erased(run: Run) -> None:
    delivery_id = run.shared().members["delivery_id"]
    expect_member(run.poll(delivery_id), "erased", value=False)


@judges_last("response-statuses")
def four_statuses(run: Run) -> None:
    polls = [
        exchange for exchange in run.bodies if exchange.method == "GET" and exchange.status == 200
    ]
    if not polls:
        raise NotJudged("The run has read no answers.")
    for exchange in polls:
        for row in rows_of(exchange):
            if row.get("status") not in STATUSES:
                raise Broken(f"The status {row.get('status')!r} is none of the four.", exchange)


def rows_of(exchange: Exchange) -> list[dict[str, Any]]:
    """Returns the answers of a poll or of a bulk request."""
    rows = exchange.members.get("deliveries", [exchange.members])
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def missing_keys(row: dict[str, Any]) -> list[str]:
    return [name for name in ANSWER_KEYS if name not in row]
