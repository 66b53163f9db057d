"""The callbacks that carry answers to agents and news of tasks to their callers, each try of them,
and where they may go."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts import encryption
from accounts.models import Agent, Team, User
from wake.models.content import ContentBinaryField, ContentTextField
from wake.models.responses import Response


class Target(NamedTuple):
    """What fails, rests and is resumed together. Pushes go where strangers asked for, so what
    becomes of them never holds a team's answers to the same host back."""

    team_id: int
    host: str
    is_push: bool = False


class CallbackQuerySet(models.QuerySet["Callback"]):
    def for_person(self, user: User) -> CallbackQuerySet:
        """Those of every team that they belong to."""
        return self.filter(team__memberships__user=user)

    def not_delivered(self) -> CallbackQuerySet:
        """Waiting, or given up. Index: callbacks_not_delivered."""
        return self.filter(delivered_at__isnull=True)

    def unfinished(self) -> CallbackQuerySet:
        return self.filter(due_at__isnull=False)

    def due(self, at: datetime) -> CallbackQuerySet:
        """Oldest first, without those that a sender holds. Index: callbacks_due."""
        return (
            self.unfinished()
            .filter(due_at__lte=at)
            .filter(Q(leased_until__isnull=True) | Q(leased_until__lte=at))
            .order_by("due_at")
        )

    def orphaned(self) -> CallbackQuerySet:
        """Taken out of the queue although their target does not rest, so that nobody would ever
        send them. Index: callbacks_out_of_the_queue."""
        rests = FailingTarget.objects.resting().filter(team=OuterRef("team"), host=OuterRef("host"))
        out = self.not_delivered().filter(due_at__isnull=True, given_up_at__isnull=True)
        return out.filter(
            Q(~Exists(rests.filter(is_push=False)), relayed_task__isnull=True)
            | Q(~Exists(rests.filter(is_push=True)), relayed_task__isnull=False)
        )

    def to(self, target: Target) -> CallbackQuerySet:
        return self.filter(_to(target))

    def to_others(self, hosts: Iterable[str], targets: Iterable[Target]) -> CallbackQuerySet:
        """Neither to one of these hosts nor to one of these targets."""
        return self.exclude(reduce(or_, map(_to, targets), Q(host__in=hosts)))


def _to(target: Target) -> Q:
    return Q(team=target.team_id, host=target.host, relayed_task__isnull=not target.is_push)


class Callback(models.Model):
    """The queued POST of one answer, which is signed, or of news of an A2A task, which is not. The
    row is the queue: `due_at` is null once nothing is left to do."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    response = models.OneToOneField(
        Response, null=True, on_delete=models.CASCADE, related_name="callback"
    )
    # The id of a row above (relay/models/tasks.py), where it carries no answer.
    relayed_task = models.UUIDField(null=True)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="callbacks")
    url: models.TextField[str, str] = ContentTextField()  # it may carry a token
    host = models.CharField(max_length=260)
    # A JSON object of the headers that it carries in place of ours; a ciphertext of
    # accounts/encryption.py, whatever WAKE_ENCRYPT_CONTENT says.
    headers_ciphertext = models.TextField(blank=True, db_default="", default="")
    body = ContentBinaryField()
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    # The person who asked for the next attempt, where it was not the schedule.
    asked_by_name = models.CharField(max_length=80, blank=True)
    delivered_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    # From then on it has no URL, headers or body (wake/retention.py).
    erased_at = models.DateTimeField(null=True)

    objects = CallbackQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(response__isnull=False, relayed_task__isnull=True)
                | Q(response__isnull=True, relayed_task__isnull=False),
                name="an_answer_or_news_of_a_task",
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False), name="callbacks_due"
            ),
            models.Index(fields=["team", "-created_at"], name="callbacks_of_a_team"),
            models.Index(
                fields=["team", "-created_at"],
                condition=Q(delivered_at__isnull=True),
                name="callbacks_not_delivered",
            ),
            models.Index(
                fields=["team", "host"],
                condition=Q(
                    due_at__isnull=True, delivered_at__isnull=True, given_up_at__isnull=True
                ),
                name="callbacks_out_of_the_queue",
            ),
        ]

    def __str__(self) -> str:
        return f"Callback to {self.host}"

    @property
    def is_push(self) -> bool:
        """Whether it carries news of an A2A task."""
        return self.relayed_task is not None

    @property
    def headers(self) -> dict[str, str]:
        """Its own; raises encryption.Unreadable."""
        if not self.headers_ciphertext:
            return {}
        found: dict[str, str] = json.loads(encryption.decrypt(self.headers_ciphertext.encode()))
        return found

    @property
    def subject(self) -> models.Model:
        """What the audit tells its fate of: the delivery that was answered, else the push."""
        return self.response.delivery if self.response else self

    @property
    def target(self) -> Target:
        return Target(self.team_id, self.host, self.is_push)


class CallbackAttempt(models.Model):
    """One try of a callback, as people can read it."""

    callback = models.ForeignKey(Callback, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField()
    took_ms = models.PositiveIntegerField()
    status_code = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=200, blank=True)
    answer: models.TextField[str, str] = ContentTextField(blank=True)
    by_name = models.CharField(max_length=80, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["callback", "id"], name="attempts_of_a_callback")]

    def __str__(self) -> str:
        return f"Attempt {self.number}: {self.status_code or self.error}"


class FailingTargetQuerySet(models.QuerySet["FailingTarget"]):
    def for_person(self, user: User) -> FailingTargetQuerySet:
        """Those of every team that they belong to."""
        return self.filter(team__memberships__user=user)

    def resting(self) -> FailingTargetQuerySet:
        """Until a person resumes them. Index: targets_that_rest."""
        return self.filter(rested_at__isnull=False)


class FailingTarget(models.Model):
    """A host that does not take the answers of a team, or not its pushes (wake/breakers.py); the
    row goes when one arrives."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    host = models.CharField(max_length=260)
    is_push = models.BooleanField(default=False, db_default=False)
    failing_since = models.DateTimeField()
    # In a row, and such that nobody seems to be there.
    failures = models.PositiveIntegerField(default=0)
    postponed_until = models.DateTimeField(null=True)
    rested_at = models.DateTimeField(null=True)

    objects = FailingTargetQuerySet.as_manager()

    class Meta:
        constraints = [
            # The host leads, because that is what a sender has a list of.
            models.UniqueConstraint(
                fields=["host", "team", "is_push"], name="one_failing_target_of_a_kind"
            )
        ]
        indexes = [
            models.Index(
                fields=["team"], condition=Q(rested_at__isnull=False), name="targets_that_rest"
            )
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def key(self) -> Target:
        return Target(self.team_id, self.host, self.is_push)

    def holds_back(self, at: datetime) -> bool:
        """Whether nothing goes there for now."""
        return self.rested_at is not None or (
            self.postponed_until is not None and self.postponed_until > at
        )


class CallbackHost(models.Model):
    """One line of a team's allowlist, in canonical form (wake/destinations.py)."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="callback_hosts")
    pattern = models.CharField(
        max_length=260, help_text="hooks.example.com, host:8443 or *.example.com"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "pattern"], name="one_line_a_host")]

    def __str__(self) -> str:
        return self.pattern
