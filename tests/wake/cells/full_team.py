"""Fills a team so that each table that moves has a row of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import ClientPolicy, Team, User
from database import encryption
from inbox.models import Comment, Mention, NotedUntil, Notification, Reading, Reminder, Snooze
from relay.models import (
    Artifact,
    Blob,
    Connector,
    PushConfig,
    PushNotification,
    Run,
    TaskDelivery,
    TaskReference,
)
from tests.tenancy.team_data import TeamData, build
from wake.models import (
    AssignedPerson,
    Assignment,
    Callback,
    Claim,
    Delivery,
    Draft,
    Failure,
    Outcome,
    Receipt,
    Response,
    Retention,
    RuleVersion,
    Trial,
    TriedUntil,
    Vote,
)
from wake.proof.receipts import of_sent_answer
from wake.responses import respond

HEADERS = b'{"Authorization": "Bearer token of a push"}'


@dataclass
class FullTeam:
    data: TeamData
    held: Response
    due_callback: Callback
    receipt: Receipt


def build_simple(team: Team, *, words: str) -> TeamData:
    """Creates the usual objects of a team, but not the made-up checkpoint of the log."""
    data = build(team, words=words)
    data.sending.delete()
    data.checkpoint.delete()
    return data


def fill(team: Team, *, people: list[User], words: str) -> FullTeam:
    """`people` has the owner and a second member."""
    data = build_simple(team, words=words)
    now, (owner, other) = timezone.now(), people
    answered = data.response.delivery
    _decided(data, answered, other, words)
    _assigned(data, owner, other)
    _personal(data, owner, other, words)
    _tasks(data, words)
    Retention.objects.create(team=team, days=400)
    ClientPolicy.objects.create(team=team, who="no_one")
    held = respond(
        data.delivery, by=other, status="rejected", content_hash=data.delivery.content_hash,
        feedback=f"{words}, held", at=now,
    )  # fmt: skip
    assert isinstance(held, Response)
    receipt = of_sent_answer(answered.pk, at=now)
    assert receipt is not None
    return FullTeam(data, held, data.callback, receipt)


def _decided(data: TeamData, answered: Delivery, other: User, words: str) -> None:
    now = timezone.now()
    Response.objects.filter(pk=data.response.pk).update(sent_at=now, picked_up_at=now)
    Claim.objects.create(
        response=data.response, claimed_at=now, key_hint="wk_gate", gate=data.gate, gate_name="Gate"
    )
    outcome = Outcome.objects.create(
        delivery=answered, status="failed", summary=words, details_json='{"a": 1.50}',
        reported_at=now, idempotency_key="once",
    )  # fmt: skip
    Failure.objects.create(delivery=answered, team=data.team, outcome=outcome, failed_at=now)
    Vote.objects.create(
        delivery=data.delivery, user=other, name=other.display_name, content_hash="0" * 64,
        feedback=words, voted_at=now,
    )  # fmt: skip


def _assigned(data: TeamData, owner: User, other: User) -> None:
    now = timezone.now()
    version = RuleVersion.objects.get(rule=data.rule)
    gone = 2_000_000_000  # a person whose account was removed
    version.people = [owner.pk, gone]
    version.escalation = [{"minutes": 5, "people": [other.pk], "role": ""}]
    version.save()
    assignment = Assignment.objects.create(
        team=data.team, rule_version=version, only_they=False, current_until=now
    )
    AssignedPerson.objects.create(assignment=assignment, user=other, name=other.display_name)
    Delivery.objects.filter(pk=data.delivery.pk).update(assignment=assignment)
    # As version 0.2 stored it.
    old = Assignment.objects.create(team=None, only_they=False)
    AssignedPerson.objects.create(assignment=old, user=None, name="Person 17")
    Delivery.objects.filter(pk=data.response.delivery_id).update(assignment=old)
    trial = {"delivery": data.delivery, "created_at": now, "due_at": now}
    Trial.objects.create(version=data.answering_rule.versions.get(), **trial)
    TriedUntil.objects.create(agent=data.agent, activity_us=1)
    NotedUntil.objects.create(agent=data.agent, activity_us=1)


def _personal(data: TeamData, owner: User, other: User, words: str) -> None:
    now = timezone.now()
    Draft.objects.create(delivery=data.response.delivery, user=other, feedback=words)
    Reading.objects.create(user=other, delivery=data.delivery, opened_at=now)
    Snooze.objects.create(user=other, delivery=data.delivery, until=now + timedelta(days=1))
    Reminder.objects.create(user=other, delivery=data.delivery, sent_at=now)
    comment = Comment.objects.get(pk=data.comment.pk)
    mention = Mention.objects.create(user=other, delivery=data.delivery, comment=comment)
    for event, key in (("mention", str(mention.pk)), ("question", str(data.delivery.pk))):
        Notification.objects.create(
            channel=data.channel, event=event, delivery=data.delivery, key=key, created_at=now,
            due_at=now,
        )  # fmt: skip


def _tasks(data: TeamData, words: str) -> None:
    now, task = timezone.now(), data.task
    facts: dict[str, Any] = {"task": task, "created_at": now}
    Artifact.objects.create(artifact_id="a", parts_json=f'[{{"text": "{words}"}}]', **facts)
    Blob.objects.create(sha256="0" * 64, size=3, content=b"\x00\x01\xff", filename=words, **facts)
    TaskReference.objects.create(task=task, earlier=task)
    TaskDelivery.objects.create(delivery=data.delivery, task=task, generation=1)
    secret = encryption.encrypt(HEADERS).decode()
    config = PushConfig.objects.create(
        config_id="c", url=f"https://{words}.example.com/", token_ciphertext=secret,
        wire_version="1.0", **facts,
    )  # fmt: skip
    push = Callback.objects.create(
        kind="push", about=task.pk, agent=data.agent, team=data.team, url=config.url,
        host=f"{words}.example.com", headers_ciphertext=secret, body=b"{}", due_at=now,
    )  # fmt: skip
    PushNotification.objects.create(config=config, task=task, generation=1, callback=push)
    connector = Connector.objects.create(
        agent=data.agent, key=data.key, instance_id="laptop", connection_id=task.pk,
        connected_at=now, seen_at=now, transport="websocket", capacity=1,
    )  # fmt: skip
    Run.objects.filter(task=task).update(
        state="leased", lease=task.pk, leased_until=now, connector=connector
    )
