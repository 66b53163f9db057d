"""Finds the delivery that a page is about."""

from __future__ import annotations

from functools import cache
from uuid import UUID

from django.http import Http404

from accounts.models import Membership, User
from database.compiled_queries import CompiledQuery, parameter
from inbox.answering.drafts import with_draft
from inbox.delivery.discussion.comments import with_discussion
from inbox.delivery.timeline import with_key
from wake.models import Delivery


def find_delivery(user: User, pk: UUID) -> Delivery:
    """Returns the delivery with its agent, answer, callback, predecessor and this person's draft;
    raises Http404 for one that is not theirs."""
    deliveries: list[Delivery] = _delivery_of_person().objects(user=user.pk, pk=pk)
    if not deliveries:
        raise Http404
    return deliveries[0]


@cache
def _delivery_of_person() -> CompiledQuery:
    user = parameter("user", Membership, "user")
    own_deliveries = with_draft(Delivery.objects.for_person(user), user)
    with_relations = with_discussion(with_key(own_deliveries), user).select_related(
        "agent", "response__callback", "supersedes__response"
    )
    delivery = with_relations.filter(pk=parameter("pk", Delivery, "id"))
    return CompiledQuery(lambda: delivery.defer("response__callback__body"))
