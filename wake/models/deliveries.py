"""Defines deliveries and the queries for them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import models
from django.db.models import F, Q

from accounts.access.objects import teams_answered_by
from accounts.models import SINGLE_LINE, Agent, ApiKey, Team, User
from database.encrypted_columns import ContentJSONField, ContentTextField

UNANSWERED = Q(answered_at__isnull=True, superseded_at__isnull=True, acknowledged_at__isnull=True)
Condition = TypeVar("Condition", bool, Q)
NOT_ANSWERED_IN_TIME = Q(answered_at__isnull=True) | Q(answered_at__gt=F("expires_at"))


def must_be_signed(
    needs_signature: Condition, irreversible: Condition, team_signs: Condition
) -> Condition:
    """Returns the rule of Delivery.must_be_signed, for values or for conditions of a query."""
    return needs_signature | (irreversible & team_signs)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def for_team(self, team: Team | int) -> DeliveryQuerySet:
        return self.filter(team=team)

    def for_person(self, user: Any) -> DeliveryQuerySet:
        """Returns the deliveries of every team that the person belongs to. A superuser sees only
        these, too."""
        return self.filter(team__memberships__user=user)

    def of_agent(self, agent: Any, mode: Any) -> DeliveryQuerySet:
        return self.filter(agent=agent, mode=mode)

    def that_may_be_answered_by(self, user: User) -> DeliveryQuerySet:
        return self.filter(team__in=teams_answered_by(user))

    def unanswered(self) -> DeliveryQuerySet:
        return self.filter(UNANSWERED)

    def awaiting_response(self) -> DeliveryQuerySet:
        """Returns the deliveries that the inbox shows. Index: waiting_of_a_team."""
        return self.unanswered().with_content()

    def with_content(self) -> DeliveryQuerySet:
        return self.filter(erased_at__isnull=True)

    def done_before(self, at: datetime) -> DeliveryQuerySet:
        """Returns deliveries that were done by then and had no activity since. A delivery is done
        if it was answered, acknowledged or replaced, or if its agent went on without an answer.
        Index: content_to_erase."""
        is_done = Q(answered_at__isnull=False)
        for ended in ("superseded_at", "acknowledged_at"):
            is_done |= Q(**{f"{ended}__lte": at})
        is_done |= Q(expires_at__lte=at) & ~Q(on_timeout=Delivery.OnTimeout.HOLD)
        return self.filter(is_done, activity_at__lte=at)

    def acknowledged(self) -> DeliveryQuerySet:
        return self.filter(acknowledged_at__isnull=False)

    def answered(self) -> DeliveryQuerySet:
        return self.filter(answered_at__isnull=False)

    def failed(self) -> DeliveryQuerySet:
        """Returns approved deliveries whose agent then reported a failure. Index:
        failures_of_a_team. PostgreSQL uses it because the query says that the failure and the
        delivery have the same team."""
        return self.filter(failure__team=F("team"), status__in=Delivery.USABLE)

    def due_to_escalate(self, at: datetime) -> DeliveryQuerySet:
        """Returns deliveries whose next step of escalation is due. Index:
        deliveries_to_escalate."""
        return self.filter(escalates_at__lte=at)

    def overdue(self, at: datetime) -> DeliveryQuerySet:
        """Returns unanswered deliveries whose deadline has passed. Index: open_deadlines."""
        return self.filter(expires_at__lte=at, answered_at__isnull=True, timed_out_at__isnull=True)

    def passed_unanswered(self, at: datetime) -> DeliveryQuerySet:
        """Returns deliveries that expired without an answer, even if they were answered later.
        Leaves out deliveries that the agent replaced in time. Index: windows_of_a_team."""
        rows = self.filter(NOT_ANSWERED_IN_TIME, expires_at__lte=at)
        return rows.exclude(superseded_at__lte=F("expires_at"))

    def after(self, since: Any) -> DeliveryQuerySet:
        """Returns rows in cursor order, starting after `since` if it is given. Index:
        cursor_of_an_agent."""
        rows = self.order_by("activity_at")
        return rows if since is None else rows.filter(activity_at__gt=since)

    def with_statuses(self, statuses: Collection[str]) -> DeliveryQuerySet:
        """Filters by status. Index: answers_of_an_agent, which PostgreSQL uses only if pending is
        excluded explicitly."""
        rows = self.filter(status__in=statuses)
        return rows if Delivery.Status.PENDING in statuses else rows.exclude(status="pending")


class Delivery(models.Model):
    """Stores the work that an agent delivered. A person may answer it once."""

    class Type(models.TextChoices):
        QUESTION = "question", "Question"
        ALERT = "alert", "Alert"
        OUTPUT = "output", "Output"
        UPDATE = "update", "Update"

    class Priority(models.TextChoices):
        """Lists how urgent an agent may call a delivery. It is a hint, which sorts inside a section
        of the inbox."""

        LOW = "low", "Low priority"
        NORMAL = "normal", "Normal priority"
        HIGH = "high", "High priority"

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        REDIRECTED = "redirected", "Redirected"

    # The answers after which an agent acts.
    USABLE = (Status.APPROVED, Status.REDIRECTED)

    class OnTimeout(models.TextChoices):
        PROCEED = "proceed", "continues on its own"
        HOLD = "hold", "waits for you"
        ABORT = "abort", "stops"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="deliveries", db_index=False
    )
    agent = models.ForeignKey(
        Agent, on_delete=models.PROTECT, related_name="deliveries", db_index=False
    )
    key_hint = models.CharField(max_length=24)
    mode = models.CharField(
        max_length=4, choices=ApiKey.Mode, default=ApiKey.Mode.LIVE, db_column="lane"
    )

    claimed_agent_id = models.CharField(max_length=128)
    provider = models.CharField(max_length=128)
    type = models.CharField(max_length=8, choices=Type)
    headline = models.CharField(max_length=120, validators=[SINGLE_LINE])
    summary = models.CharField(max_length=280, validators=[SINGLE_LINE])
    # The JSON text is stored as the agent sent it, because jsonb would reorder its keys and a float
    # would lose digits.
    details_json: models.TextField[str | None, str | None] = ContentTextField(
        null=True
    )  # NULL stands for JSON's null; an empty text would not be JSON
    callback_webhook: models.TextField[str, str] = ContentTextField(blank=True)
    timeout_seconds = models.PositiveIntegerField(null=True)
    assumption: models.TextField[str, str] = ContentTextField(blank=True)
    on_timeout = models.CharField(max_length=8, choices=OnTimeout, blank=True)
    thread = models.CharField(max_length=128, blank=True)
    supersedes = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="revisions"
    )
    priority = models.CharField(
        max_length=6, choices=Priority, default=Priority.NORMAL, db_default=Priority.NORMAL
    )
    # How many people have to approve: the agent's number, or its rule's if that is higher. null
    # means one (wake/assignment/votes.py).
    quorum = models.PositiveSmallIntegerField(null=True)
    # The people to whom the delivery is assigned; null means everyone who may answer.
    assignment = models.ForeignKey(
        "Assignment",
        null=True,
        on_delete=models.PROTECT,
        related_name="deliveries",
        db_constraint=False,
        db_index=False,
    )
    # How many steps of its rule's escalation are done, and when the next step is due; null if no
    # step follows (wake/assignment/escalation.py).
    steps_done = models.SmallIntegerField(default=0, db_default=0)
    escalates_at = models.DateTimeField(null=True)
    # True if the action that an approval allows cannot be undone. No rule may approve such a
    # delivery.
    irreversible = models.BooleanField(default=False, db_default=False)
    # True if a rule asked for the passkey of each person who approves (wake/proof/signatures.py).
    needs_signature = models.BooleanField(default=False, db_default=False)
    # True if another app of this server made the delivery and takes its answer. The agent did not
    # submit it, so its key does not see it under /wake/.
    is_internal = models.BooleanField(default=False, db_default=False, db_column="relayed")
    extensions = ContentJSONField(default=dict)
    # The digest of the content with `nonce` (wake/proof/digest.py), or an earlier kind of hash
    # without a nonce. The agent chooses whether its answers carry the digest and the nonce
    # (`wants_digest`).
    content_hash = models.CharField(max_length=64)
    nonce: models.TextField[str, str] = ContentTextField(blank=True, default="", db_default="")
    wants_digest = models.BooleanField(default=False, db_default=False)
    # Whether the callback carries the receipt of the answer (wake/proof/receipts.py).
    wants_receipt = models.BooleanField(default=False, db_default=False)
    # How long after its release an approval can be claimed (wake/claims.py); null is for ever.
    claim_within_seconds = models.PositiveIntegerField(null=True)
    # The trace of the request, if its client sent one (wake/callbacks/traces.py).
    traceparent = models.CharField(max_length=55, null=True)  # noqa: DJ001 - takes no room if absent
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001 - unique where it is there
    idempotency_hash = models.CharField(max_length=64, blank=True)

    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    # When the delivery was created or, later, answered. This time is the agent's cursor, which
    # strictly increases in commit order.
    activity_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    timed_out_at = models.DateTimeField(null=True)
    superseded_at = models.DateTimeField(null=True)
    # When the request was withdrawn (wake/withdrawals.py). Then superseded_at is set, too. It is
    # earlier if the delivery had been replaced before.
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_reason: models.TextField[str, str] = ContentTextField(
        blank=True, default="", db_default=""
    )
    # When a person clicked "Got it". This is not an answer, and the agent is never notified.
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=80, blank=True)
    # From then on the delivery has no content (wake/retention.py), and its headline says so.
    erased_at = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "mode", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="one_delivery_an_idempotency_key",
            ),
            # Stamps are unique and increase for each agent (wake/models/cursor.py). The mode comes
            # first in the sweep's index.
            models.UniqueConstraint(
                fields=["agent", "mode", "activity_at"], name="cursor_of_an_agent"
            ),
            models.CheckConstraint(
                condition=Q(timeout_seconds__isnull=True) | Q(timeout_seconds__range=(60, 604_800)),
                name="timeout_within_a_week",
            ),
            models.CheckConstraint(
                condition=Q(quorum__isnull=True) | Q(quorum__range=(2, 5)),
                name="quorum_of_two_to_five",
            ),
            models.CheckConstraint(
                condition=Q(status="pending") | Q(answered_at__isnull=False),
                name="released_only_when_answered",
            ),
        ]
        indexes = [
            models.Index(
                fields=["agent", "mode", "activity_at"],
                condition=~Q(status="pending"),
                name="answers_of_an_agent",
            ),
            models.Index(
                fields=["team", "mode", "type", "-created_at"],
                condition=UNANSWERED & Q(erased_at__isnull=True),
                name="waiting_of_a_team",
            ),
            models.Index(
                fields=["agent", "thread", "created_at"],
                condition=~Q(thread=""),
                name="thread_of_an_agent",
            ),
            models.Index(fields=["team", "mode", "-activity_at"], name="history_of_a_team"),
            models.Index(
                fields=["team", "activity_at"],
                condition=Q(erased_at__isnull=True),
                name="content_to_erase",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(
                    expires_at__isnull=False, answered_at__isnull=True, timed_out_at__isnull=True
                ),
                name="open_deadlines",
            ),
            models.Index(
                fields=["escalates_at"],
                condition=Q(escalates_at__isnull=False),
                name="deliveries_to_escalate",
            ),
            models.Index(
                fields=["team", "mode", "-expires_at"],
                condition=Q(expires_at__isnull=False) & NOT_ANSWERED_IN_TIME,
                name="windows_of_a_team",
            ),
        ]

    def __str__(self) -> str:
        return self.headline

    @property
    def details(self) -> Any:
        """Returns a dict, a str or None, as the agent sent it."""
        return None if self.details_json is None else json.loads(self.details_json)

    @property
    def goes_on_unanswered(self) -> bool:
        """Returns whether the agent means to go on after its deadline. An agent that does not say
        what it does also goes on (docs/protocol.md, Timeouts)."""
        return self.timeout_seconds is not None and self.on_timeout in {"", self.OnTimeout.PROCEED}

    @property
    def must_be_signed(self) -> bool:
        """Returns whether a person who approves the delivery, or asks for changes, signs the answer
        with a passkey. `team` must be loaded."""
        return must_be_signed(self.needs_signature, self.irreversible, self.team.signs_irreversible)

    def is_past_deadline(self, at: datetime) -> bool:
        return self.expires_at is not None and at >= self.expires_at

    @property
    def is_closed(self) -> bool:
        """Returns whether the delivery can no longer be answered: it was withdrawn, or the app that
        made it has replaced it."""
        is_replaced = self.is_internal and self.superseded_at is not None
        return self.withdrawn_at is not None or is_replaced

    def needs_no_answer(self, at: datetime) -> bool:
        """Returns whether a person may acknowledge the delivery instead of answering it
        (docs/protocol.md, Answering). If another app made the delivery, only a question waits for
        an answer."""
        if self.is_internal:
            return self.type != self.Type.QUESTION
        return self.type in {self.Type.UPDATE, self.Type.ALERT} or self.is_past_deadline(at)

    def hold(self, seconds: int, at: datetime) -> timedelta:
        """Returns how long a person can take back an answer that is given now: at most half of the
        time until the deadline."""
        full = timedelta(seconds=seconds)
        if self.expires_at is None or self.is_past_deadline(at):
            return full
        return min(full, (self.expires_at - at) / 2)
