"""Finds the people whom a comment mentions, and lists the comments that mention a person."""

from __future__ import annotations

import logging
import re
from collections import Counter
from datetime import datetime

from django.db import DatabaseError, transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import Membership, User
from inbox.models import Mention
from wake.models import Delivery

log = logging.getLogger(__name__)

MAX_LISTED = 50


def mentioned_in(text: str, *, team_id: int, by: User) -> list[User]:
    """Returns the people of the team whose names follow an `@`, without the author. The first word
    of a name is enough if no other person of the team has it."""
    if "@" not in text:
        return []
    members = Membership.objects.filter(team=team_id).select_related("user")
    people = [membership.user for membership in members]
    first_words = Counter(_first_word(user).casefold() for user in people)
    return [
        user
        for user in people
        if user != by
        and (
            _follows_at(user.display_name, text)
            or (
                first_words[_first_word(user).casefold()] == 1
                and _follows_at(_first_word(user), text)
            )
        )
    ]


def _first_word(user: User) -> str:
    return next(iter(user.display_name.split()), "")


def _follows_at(name: str, text: str) -> bool:
    """Returns whether `@name` is in the text and is not part of a longer word, so that an e-mail
    address mentions no one. `name` must have the person's own spelling: casefold would turn `Weiß`
    into `weiss`, which is not in `@Weiß`."""
    return bool(name) and re.search(rf"(?<!\w)@{re.escape(name)}(?!\w)", text, re.I) is not None


def newest_mentions(user: User) -> list[Mention]:
    """Returns the newest MAX_LISTED mentions with their comments and deliveries. Index:
    mentions_of_a_person."""
    rows = Mention.objects.of_person(user).filter(delivery__erased_at=None)
    headline = rows.select_related("comment", "delivery").only(
        "seen_at", "comment", "delivery__headline"
    )
    return list(headline.order_by("-pk")[:MAX_LISTED])


def mark_seen_if_possible(delivery: Delivery, *, by: User, at: datetime) -> None:
    """Marks mentions as seen, for a page that must be shown even while the database cannot
    write."""
    try:
        with transaction.atomic():
            Mention.objects.unseen().filter(user=by, delivery=delivery).update(seen_at=at)
    except DatabaseError as failure:
        log.warning("Mentions in %s cannot be marked as seen: %s", delivery.pk, failure)


def with_mention_count(memberships: QuerySet[Membership]) -> QuerySet[Membership]:
    """Adds `mention_count`: how many comments in the team mention the member and are still unseen.
    Index: unseen_mentions."""
    unseen = Mention.objects.unseen().filter(
        user=OuterRef("user_id"), delivery__team=OuterRef("team_id")
    )
    count = unseen.order_by().values("user").annotate(count=Count("pk")).values("count")
    return memberships.annotate(mention_count=Coalesce(Subquery(count), 0))
