"""Records which new deliveries the answering rules would approve, and approves them.

Delivering writes nothing for the rules, and takes no longer because of them. A sweep reads each
agent's deliveries after the commit, in the order of their stamps, so the sweep misses no delivery
(wake/models/cursor.py). A delivery that a rule may approve becomes a row with a due time
(docs/decisions/0058-rules-answer-after-a-trial.md).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.crypto import salted_hmac

from accounts.audit import SYSTEM, record
from accounts.models import Agent, ApiKey
from database import sweeps
from database.follower import ReadPlan, behind, follow
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

ANSWERS_AT_ONCE = 200
LATER = timedelta(minutes=1)
# One in this many deliveries that a rule may approve still goes to people.
SAMPLE = 10
# The content is read to compare it, and to draw the sample.
COLUMNS = (
    *("team", "agent", "type", "thread", "created_at", "activity_at", "quorum", "irreversible"),
    *("supersedes", "is_internal", "assignment", "needs_signature"),
    *("headline", "summary", "details_json", "assumption"),
)


def record_and_answer(
    *,
    at: datetime,
    one_in: int = SAMPLE,
    at_once: int = ANSWERS_AT_ONCE,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Reads new deliveries of teams with answering rules, then approves the due ones. Returns how
    many were approved. Without such rules it makes three queries."""
    began = clock()
    follow(
        _agents_with_rules(at).only("team", "activity_us"),
        TriedUntil,
        partial(_trying, one_in=one_in, at=at),
        what="trials of rules",
        at=at,
    )
    due = sweeps.to_work_on(Trial.objects.due(at))
    due = due.select_related("delivery__agent", "version__rule")
    versions = AnsweringVersion.objects.at_work(at).filter(
        Exists(due.filter(version=OuterRef("pk")))
    )
    sweeps.each(
        versions.filter(rule__state=AnsweringRule.State.ON).select_related("rule"),
        partial(_stop_if_contradicted, at=at),
        what="answering rules",
    )
    # So that people have the whole hold to undo the approval.
    at += timedelta(seconds=clock() - began)
    locks = ("delivery", "self")
    return sweeps.sweep(
        due.order_by("due_at"),
        partial(_answer, at=at),
        what="answers of rules",
        at_once=at_once,
        # Without a hold the answer is released immediately. A release locks the agent, and agents
        # are locked before deliveries.
        locks=locks if settings.WAKE_HOLD_SECONDS else ("delivery__agent", *locks),
        postpone=lambda pk: Trial.objects.filter(pk=pk).update(due_at=at + LATER),
    )


def agents_to_read(at: datetime) -> QuerySet[Agent]:
    """Returns the agents of teams with answering rules that have new rows."""
    return behind(_agents_with_rules(at), TriedUntil, at=at)


def _agents_with_rules(at: datetime) -> QuerySet[Agent]:
    rules = AnsweringVersion.objects.at_work(at).filter(rule__team=OuterRef("team"))
    return Agent.objects.filter(Exists(rules))


def _trying(
    agent: Agent, place: TriedUntil, *, one_in: int, at: datetime
) -> ReadPlan[Delivery] | None:
    newest = AnsweringVersion.objects.of_team(agent.team_id)
    rules = [live(each) for each in newest if each.rule.state != AnsweringRule.State.OFF]
    if not rules:
        return None
    deliveries = Delivery.objects.of_agent(agent, ApiKey.Mode.LIVE).only(*COLUMNS)
    since = min(rule.version.created_at for rule in rules)
    return ReadPlan([deliveries], partial(_record, rules=rules, one_in=one_in, at=at), since=since)


def _record(
    rows: Sequence[Delivery],
    *,
    rules: Sequence[LiveRule[AnsweringVersion]],
    one_in: int,
    at: datetime,
) -> None:
    trials = [
        trial for row in _eligible(rows) for trial in _trials(row, rules, one_in=one_in, at=at)
    ]
    # An answer moves a delivery's stamp, so that this sweep reads the delivery again.
    Trial.objects.bulk_create(trials, ignore_conflicts=True)


def _eligible(rows: Sequence[Delivery]) -> Iterator[Delivery]:
    """Yields the deliveries that rules may answer: questions and outputs of this app that can be
    undone, that any one person may answer, and that no one has to sign. Revisions go to people,
    too, because people may have rejected the one before. Otherwise an agent whose delivery went to
    people could send it again until a rule approves it."""
    assigned = {row.assignment_id for row in rows if row.assignment_id is not None}
    only_some = Assignment.objects.filter(pk__in=assigned, only_they=True)
    excluded = set(only_some.values_list("pk", flat=True))
    for row in rows:
        is_for_one = row.quorum is None and row.assignment_id not in excluded
        is_for_people = row.irreversible or row.needs_signature or row.supersedes_id is not None
        if row.type in TYPES and is_for_one and not (is_for_people or row.is_internal):
            yield row


def _trials(
    row: Delivery, rules: Sequence[LiveRule[AnsweringVersion]], *, one_in: int, at: datetime
) -> Iterator[Trial]:
    """Yields a trial for each rule that matches by values that the page shows. The first rule that
    is on may approve the delivery, unless the delivery belongs to the sample."""
    details, is_taken = Details(row), is_in_sample(row, one_in=one_in)
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


def is_in_sample(row: Delivery, *, one_in: int = SAMPLE) -> bool:
    """Returns whether people answer the delivery although a rule may approve it. The agent cannot
    predict this, because the key is secret. The same content delivered again on the same day (UTC)
    has the same result. The content hash cannot be used for the choice, because it has a nonce and
    differs each time."""
    day = row.created_at.astimezone(UTC).date()
    content = (row.type, row.headline, row.summary, row.details_json, row.assumption)
    text = json.dumps([str(row.agent_id), str(day), *content])
    digest = salted_hmac("wake.answering.sample", text, algorithm="sha256").digest()
    return int.from_bytes(digest) % one_in == 0


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
    """Approves the delivery of a claimed trial, if its rule still may. Returns 1 if it was
    approved."""
    trial.due_at = None
    # The rule is locked last, so that the rule approves nothing after it is turned off, and its
    # limit is exact.
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
    if delivery.agent.paused_at is not None:  # an owner paused the agent
        return False
    if Draft.objects.filter(delivery=delivery).exists():  # a person is writing an answer
        return False
    if newest_refusal(version, delivery.agent_id, at=at):  # also from before this version
        return False
    return version.expires_at > at


def _count(rule: AnsweringRule, version: AnsweringVersion, *, at: datetime) -> bool:
    """Counts one approval of the locked rule. Returns False if its limit for today (UTC) is
    reached."""
    today = at.astimezone(UTC).date()
    if rule.counted_on != today:
        rule.counted_on, rule.counted = today, 0
    if rule.counted >= version.most_a_day:
        return False
    rule.counted += 1
    rule.save(update_fields=["counted_on", "counted"])
    return True
