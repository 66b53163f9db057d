"""Defines callbacks, their attempts, the hosts that they may go to, and the hosts that fail."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Exists, OuterRef, Q

from accounts.models import Agent, Team, User
from database import encryption
from database.clock import database_now
from database.encrypted_columns import ContentBinaryField, ContentTextField
from wake.models.responses import Response


class Target(NamedTuple):
    """Names a host of a team. All callbacks to a target fail, are suspended and are resumed
    together. Callbacks that carry no answer form a target of their own, because the team may not
    have chosen their host. So their failures do not hold back the team's answers to the same
    host."""

    team_id: int
    host: str
    without_answers: bool = False


class CallbackQuerySet(models.QuerySet["Callback"]):
    def for_person(self, user: User) -> CallbackQuerySet:
        """Returns the callbacks of every team that the person belongs to."""
        return self.filter(team__memberships__user=user)

    def not_delivered(self) -> CallbackQuerySet:
        """Returns callbacks that wait, and callbacks that were given up. Index:
        callbacks_not_delivered."""
        return self.filter(delivered_at__isnull=True)

    def unfinished(self) -> CallbackQuerySet:
        return self.filter(due_at__isnull=False)

    def due(self, at: Any) -> CallbackQuerySet:
        """Returns callbacks that may be sent now and that no sender has claimed, oldest first.
        Index: callbacks_due."""
        return (
            self.unfinished()
            .filter(due_at__lte=at)
            .filter(Q(leased_until__isnull=True) | Q(leased_until__lte=at))
            .order_by("due_at")
        )

    def out_of_the_queue(self) -> CallbackQuerySet:
        """Returns callbacks that wait until a person resumes their target. Index:
        callbacks_out_of_the_queue."""
        return self.not_delivered().filter(due_at__isnull=True, given_up_at__isnull=True)

    def orphaned(self) -> CallbackQuerySet:
        """Returns callbacks that are out of the queue although their target is not suspended.
        Nothing would ever send them. Index: callbacks_out_of_the_queue."""
        targets = FailingTarget.objects.suspended()
        targets = targets.filter(team=OuterRef("team"), host=OuterRef("host"))
        return self.out_of_the_queue().filter(
            Q(~Exists(targets.filter(without_answers=False)), response__isnull=False)
            | Q(~Exists(targets.filter(without_answers=True)), response__isnull=True)
        )

    def with_failing_hosts(self) -> CallbackQuerySet:
        """Adds `is_failing`: whether the host failed for this team or another. The table of failing
        targets is empty while no host fails. Index: one_failing_target_of_a_kind."""
        return self.annotate(is_failing=Exists(FailingTarget.objects.filter(host=OuterRef("host"))))

    def to(self, target: Target) -> CallbackQuerySet:
        return self.filter(_to(target))

    def to_others(self, hosts: Any, targets: Iterable[Target]) -> CallbackQuerySet:
        """Leaves out callbacks to these hosts and these targets. `hosts` is a ListParameter."""
        return self.exclude(reduce(or_, map(_to, targets), Q(host__one_of=hosts)))


def _to(target: Target) -> Q:
    return Q(team=target.team_id, host=target.host, response__isnull=target.without_answers)


class Callback(models.Model):
    """Queues the POST of one answer, or of another app's content. The row is the queue: `due_at` is
    null once nothing is left to send."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    response = models.OneToOneField(
        Response, null=True, on_delete=models.CASCADE, related_name="callback"
    )
    # How the callback is sent (wake/callbacks/kinds.py, which reads this). Version 0.1 writes no
    # kind, and its callbacks without an answer were pushes only.
    kind = models.CharField(max_length=16, default="answer", db_default="push")
    # For a callback without an answer: the id of its subject's row, in the app of its kind.
    about = models.UUIDField(null=True, db_column="relayed_task")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    # Index: callbacks_of_a_team.
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="callbacks", db_index=False
    )
    # Encrypted, because the URL may contain a token.
    url: models.TextField[str, str] = ContentTextField()
    host = models.CharField(max_length=260)
    # A JSON object of the headers that kinds without a signature need; always encrypted
    # (database/encryption.py), regardless of WAKE_ENCRYPT_CONTENT.
    headers_ciphertext = models.TextField(blank=True, db_default="", default="")
    body = ContentBinaryField()
    created_at = models.DateTimeField(default=database_now)
    due_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    # The person who asked for the next attempt, or empty if the schedule decides about it.
    asked_by_name = models.CharField(max_length=80, blank=True)
    delivered_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    # When the callback's URL, headers and body were erased (wake/retention.py).
    erased_at = models.DateTimeField(null=True)

    objects = CallbackQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(response__isnull=False, about__isnull=True)
                | Q(response__isnull=True, about__isnull=False),
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
    def headers(self) -> dict[str, str]:
        """Returns the headers that were queued with the callback; raises encryption.Unreadable."""
        if not self.headers_ciphertext:
            return {}
        headers: dict[str, str] = json.loads(encryption.decrypt(self.headers_ciphertext.encode()))
        return headers

    @property
    def subject(self) -> models.Model:
        """Returns the row for audit events: the answered delivery, or the callback."""
        return self.response.delivery if self.response else self

    @property
    def target(self) -> Target:
        return Target(self.team_id, self.host, without_answers=self.response_id is None)


class CallbackAttempt(models.Model):
    """Records one attempt to send a callback, and its outcome."""

    # Index: attempts_of_a_callback.
    callback = models.ForeignKey(
        Callback, on_delete=models.CASCADE, related_name="attempts", db_index=False
    )
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
        """Returns the targets of every team that the person belongs to."""
        return self.filter(team__memberships__user=user)

    def suspended(self) -> FailingTargetQuerySet:
        """Returns the targets that wait for a person to resume them. Index: suspended_targets."""
        return self.filter(suspended_at__isnull=False)


class FailingTarget(models.Model):
    """Counts the failures of a host that does not accept a team's answers, or its other callbacks
    (wake/callbacks/circuit_breaker.py). The row is deleted when a callback arrives."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    host = models.CharField(max_length=260)
    without_answers = models.BooleanField(default=False, db_default=False, db_column="is_push")
    failing_since = models.DateTimeField()
    # Consecutive failures in which the host did not answer, or asked for time.
    failures = models.PositiveIntegerField(default=0)
    postponed_until = models.DateTimeField(null=True)
    suspended_at = models.DateTimeField(null=True, db_column="rested_at")

    objects = FailingTargetQuerySet.as_manager()

    class Meta:
        constraints = [
            # The host comes first, because a sender has a list of hosts.
            models.UniqueConstraint(
                fields=["host", "team", "without_answers"], name="one_failing_target_of_a_kind"
            )
        ]
        indexes = [
            models.Index(
                fields=["team"], condition=Q(suspended_at__isnull=False), name="suspended_targets"
            )
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def key(self) -> Target:
        return Target(self.team_id, self.host, self.without_answers)

    def holds_back(self, at: datetime) -> bool:
        """Returns whether callbacks to this target wait for now."""
        return self.suspended_at is not None or (
            self.postponed_until is not None and self.postponed_until > at
        )


class CallbackHost(models.Model):
    """Allows one host, or a pattern of hosts, for a team's callbacks, in canonical form
    (wake/callbacks/allowlist.py)."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="callback_hosts")
    pattern = models.CharField(
        max_length=260, help_text="hooks.example.com, host:8443 or *.example.com"
    )
    created_at = models.DateTimeField(default=database_now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "pattern"], name="one_line_a_host")]

    def __str__(self) -> str:
        return self.pattern
