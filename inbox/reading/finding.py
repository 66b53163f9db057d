"""Finds the delivery of a page."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Subquery
from django.http import Http404

from accounts.models import ApiKey, Membership, User
from database.compiled_queries import CompiledQuery, parameter
from inbox.models import Comment
from inbox.reading.drafts import with_draft
from wake.models import Delivery, DeliveryQuerySet, Outcome


def find_delivery(user: User, pk: UUID) -> Delivery:
    """Returns the delivery with its agent, team, answer, callback, claim, predecessor and this
    person's draft. Raises Http404 for a delivery of another team."""
    deliveries: list[Delivery] = _delivery_of_person().objects(user=user.pk, pk=pk)
    if not deliveries:
        raise Http404
    return deliveries[0]


@cache
def _delivery_of_person() -> CompiledQuery:
    user = parameter("user", Membership, "user")
    own_deliveries = with_draft(Delivery.objects.for_person(user), user)
    with_relations = _with_discussion(_with_key(own_deliveries), user).select_related(
        "agent", "team", "response__callback", "response__claim", "supersedes__response"
    )
    delivery = with_relations.filter(pk=parameter("pk", Delivery, "id"))
    return CompiledQuery(lambda: delivery.defer("response__callback__body"))


def _with_key(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Adds `key_revoked_at` of the key that sent the delivery, and `client_name` if the key is that
    of a connected client."""
    key = ApiKey.objects.filter(agent=OuterRef("agent"), hint=OuterRef("key_hint"))
    return rows.annotate(
        key_revoked_at=Subquery(key.values("revoked_at")[:1]),
        client_name=Subquery(key.values("grant__client_name")[:1]),
    )


def _with_discussion(rows: DeliveryQuerySet, reader: Any) -> DeliveryQuerySet:
    """Adds `has_comments`, `has_outcomes` and `has_colleagues`. `has_colleagues` says whether
    anyone else belongs to the delivery's team."""
    others = Membership.objects.filter(team=OuterRef("team_id")).exclude(user=reader)
    comments = Comment.objects.filter(delivery=OuterRef("pk"))
    outcomes = Outcome.objects.filter(delivery=OuterRef("pk"))
    return rows.annotate(
        has_comments=Exists(comments), has_outcomes=Exists(outcomes), has_colleagues=Exists(others)
    )
