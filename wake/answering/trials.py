"""Notes which new deliveries the answering rules would approve, and approves them.

Delivering writes nothing and costs nothing for it. A sweep reads each agent's deliveries after the
commit, in the order of their stamps, so it misses none (wake/models/cursor.py). A delivery
that a rule may approve is a row with a due time
(docs/decisions/0058-rules-answer-after-a-trial.md).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Coalesce
from django.utils.crypto import salted_hmac

from accounts.audit import SYSTEM, record
from accounts.models import Agent, ApiKey
from database import sweeps
from database.clock import EPOCH, microseconds
from wake.answering.refusals import newest_refusal
from wake.answering.results import results_of
from wake.answering.rules import TYPES
from wake.answering.shown_values import is_shown
from wake.assignment.details import Details
from wake.assignment.matching import LiveRule, live
from wake.models import (
    AnsweringRule,
    AnsweringVersion,
    Assignment,
    Delivery,
    Draft,
    Trial,
    TriedUntil,
)
from wake.responses import approve_by_rule

AGENTS_AT_ONCE = 100
ROWS_AT_ONCE = 200
ANSWERS_AT_ONCE = 200
LATER = timedelta(minutes=1)
# Of the deliveries that a rule may approve, one in so many still goes to people.
SAMPLE = 10
COLUMNS = (
    *("team", "agent", "type", "thread", "created_at", "activity_at", "quorum", "irreversible"),
    *("supersedes", "is_internal", "assignment", "content_hash"),
)
# Read if a rule compares a value.
COMPARED = ("details_json", "headline", "summary", "assumption")


def note_and_answer(*, at: datetime) -> int:
    """Reads what agents delivered in teams with answering rules, then approves what is due.
    Returns how many deliveries were approved. Without such rules it makes three queries."""
    began = time.monotonic()
    sweeps.each(_agents_behind(at), partial(_read_on, at=at), what="trials of agents")
    due = Trial.objects.due(at).select_related("delivery__agent", "version__rule")
    versions = AnsweringVersion.objects.at_work(at).filter(
        Exists(due.filter(version=OuterRef("pk")))
    )
    sweeps.each(
        versions.filter(rule__state=AnsweringRule.State.ON).select_related("rule"),
        partial(_stop_if_contradicted, at=at),
        what="answering rules",
    )
    at += timedelta(seconds=time.monotonic() - began)  # people have the whole hold to undo it
    locks = ("delivery", "self")
    return sweeps.sweep(
        due.order_by("due_at"),
        partial(_answer, at=at),
        what="answers of rules",
        at_once=ANSWERS_AT_ONCE,
        # Without a hold the answer is released at once, and the lock order is agent, delivery.
        locks=locks if settings.WAKE_HOLD_SECONDS else ("delivery__agent", *locks),
        postpone=lambda pk: Trial.objects.filter(pk=pk).update(due_at=at + LATER),
    )


def _agents_behind(at: datetime) -> list[UUID]:
    rules = AnsweringVersion.objects.at_work(at).filter(rule__team=OuterRef("team"))
    agents = Agent.objects.alias(until=Coalesce("tried_until__activity_us", 0))
    behind = agents.filter(Exists(rules), activity_us__gt=F("until"))
    return list(behind.order_by("activity_us").values_list("pk", flat=True)[:AGENTS_AT_ONCE])


@transaction.atomic
def _read_on(agent_id: UUID, *, at: datetime) -> int:
    TriedUntil.objects.get_or_create(agent_id=agent_id)
    tried = TriedUntil.objects.select_for_update(skip_locked=True).filter(agent=agent_id).first()
    if tried is None:
        return 0
    # Read after the lock and before the rows: every row up to this stamp is committed.
    agent = Agent.objects.only("team", "activity_us").get(pk=agent_id)
    newest = AnsweringVersion.objects.of_team(agent.team_id)
    rules = [live(each) for each in newest if each.rule.state != AnsweringRule.State.OFF]
    done_us = agent.activity_us
    rows: list[Delivery] = []
    if rules:
        begun = min(rule.version.created_at for rule in rules)
        since = max(EPOCH + timedelta(microseconds=tried.activity_us), begun)
        deliveries = Delivery.objects.of_agent(agent_id, ApiKey.Mode.LIVE).after(since)
        deliveries = deliveries.filter(activity_at__lte=EPOCH + timedelta(microseconds=done_us))
        compares = COMPARED if any(rule.version.operator for rule in rules) else ()
        rows = list(deliveries.only(*COLUMNS, *compares)[:ROWS_AT_ONCE])
        if len(rows) == ROWS_AT_ONCE:
            done_us = microseconds(rows[-1].activity_at)
        trials = [trial for row in _eligible(rows) for trial in _trials(row, rules, at=at)]
        # An answer moves a delivery's stamp, so that it is read again.
        Trial.objects.bulk_create(trials, ignore_conflicts=True)
    TriedUntil.objects.filter(pk=agent_id).update(activity_us=done_us)
    return len(rows)


def _eligible(rows: Sequence[Delivery]) -> Iterator[Delivery]:
    """Yields what rules may answer at all: no alert and no update, nothing that cannot be undone,
    nothing that several people or only some have to answer, and no question of another app. A
    revision goes to people, too: they may have rejected the one before it, and an agent whose
    delivery went to people could otherwise send it again until a rule approves it."""
    assigned = {row.assignment_id for row in rows if row.assignment_id is not None}
    only_some = Assignment.objects.filter(pk__in=assigned, only_they=True)
    excluded = set(only_some.values_list("pk", flat=True))
    for row in rows:
        is_for_one = row.quorum is None and row.assignment_id not in excluded
        is_for_people = row.irreversible or row.is_internal or row.supersedes_id is not None
        if row.type in TYPES and is_for_one and not is_for_people:
            yield row


def _trials(
    row: Delivery, rules: Sequence[LiveRule[AnsweringVersion]], *, at: datetime
) -> Iterator[Trial]:
    """Yields a trial for each rule that matches by what the page shows. The first one that is on
    may approve it, unless it belongs to the sample."""
    details, is_taken = Details(row), is_in_sample(row)
    for rule in rules:
        version = rule.version
        if row.created_at < version.created_at or not rule.matches(row, details, at=at):
            continue
        if rule.operator and not is_shown(rule.pointer, details):
            continue
        since = version.rule.on_since
        is_due = since is not None and row.created_at >= since and not is_taken
        is_taken = is_taken or is_due
        yield Trial(delivery=row, version=version, created_at=at, due_at=at if is_due else None)


def is_in_sample(row: Delivery) -> bool:
    """Returns whether people answer the delivery although a rule may approve it. Its agent cannot
    know that beforehand, because the key is secret, and the same content delivered again on the
    same day (UTC) has the same result."""
    day = row.created_at.astimezone(UTC).date()
    text = f"{row.agent_id} {day} {row.content_hash}"
    digest = salted_hmac("wake.answering.sample", text, algorithm="sha256").digest()
    return int.from_bytes(digest) % SAMPLE == 0


@transaction.atomic
def _stop_if_contradicted(version: AnsweringVersion, *, at: datetime) -> int:
    """Returns a rule to shadow if people disagreed too often since it was turned on."""
    results = results_of(version, since=version.rule.on_since)
    rule = AnsweringRule.objects.select_for_update().get(pk=version.rule_id)
    if not results.is_contradicted or rule.on_since != version.rule.on_since:
        return 0
    rule.state, rule.on_since, rule.stopped_itself_at = AnsweringRule.State.SHADOW, None, at
    rule.save(update_fields=["state", "on_since", "stopped_itself_at"])
    record(
        "answering_rule.back_to_shadow",
        by=SYSTEM,
        of=rule,
        team=rule.team_id,
        at=at,
        version=rule.version,
        contradicted=results.contradicted,
    )
    return 1


def _answer(trial: Trial, *, at: datetime) -> int:
    """Approves the delivery of a claimed trial, if its rule still may. Returns 1 if it did."""
    trial.due_at = None
    # Locked last, so that a rule that is off approves nothing more, and its limit is exact.
    rule = AnsweringRule.objects.select_for_update().get(pk=trial.version.rule_id)
    trial.version.rule = rule
    if _may_answer(rule, trial, at=at) and _count(rule, trial.version, at=at):
        approve_by_rule(trial.delivery, trial.version, at=at)
        trial.approved_at = at
    trial.save(update_fields=["due_at", "approved_at"])
    return 1 if trial.approved_at else 0


def _may_answer(rule: AnsweringRule, trial: Trial, *, at: datetime) -> bool:
    version, delivery = trial.version, trial.delivery
    if rule.state != AnsweringRule.State.ON or rule.version != version.number:
        return False
    waits = Delivery.objects.awaiting_response().filter(pk=delivery.pk)
    if delivery.is_past_deadline(at) or delivery.is_closed or not waits.exists():
        return False
    if delivery.agent.paused_at is not None:  # an owner stopped it, perhaps because of this
        return False
    if Draft.objects.filter(delivery=delivery).exists():  # a person is at it
        return False
    if newest_refusal(version, delivery.agent_id, at=at):  # perhaps of this, before it was changed
        return False
    return version.expires_at > at


def _count(rule: AnsweringRule, version: AnsweringVersion, *, at: datetime) -> bool:
    """Counts one approval of the locked rule. Returns False if it has no more today (UTC)."""
    today = at.astimezone(UTC).date()
    if rule.counted_on != today:
        rule.counted_on, rule.counted = today, 0
    if rule.counted >= version.most_a_day:
        return False
    rule.counted += 1
    rule.save(update_fields=["counted_on", "counted"])
    return True
