"""Removes a person's account. Their decisions stay, under a number instead of the name."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from django.db import OperationalError, transaction

from accounts.audit import Actor, record
from accounts.models import User
from accounts.people import leaving
from database.outages import is_busy
from inbox.models import Comment, Mention
from wake import former_people

ATTEMPTS = 3


def known_as(user: User) -> str:
    """Returns what stands for the person from then on: `Person 17`."""
    return f"Person {user.pk}"


def remove(user: User, *, by: Actor, at: datetime) -> str:
    """Deletes the person with all that is theirs alone, and returns what stands for them now. The
    audit keeps their name (docs/privacy.md). Raises leaving.OwnsAlone and User.DoesNotExist.

    It begins again if PostgreSQL ends it because two transactions wait for each other."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _remove(user.pk, by=by, at=at)
        except OperationalError as error:
            if not is_busy(error):
                raise
    return _remove(user.pk, by=by, at=at)


@transaction.atomic
def _remove(pk: int, *, by: Actor, at: datetime) -> str:
    # An answer that is not committed yet waits for this lock at its commit, and then fails.
    # Otherwise it could be stored after the names were replaced, and keep its own.
    user = User.objects.select_for_update().get(pk=pk)
    leaving.end_memberships(user, by=by)
    record("person.removed", by=by, of=user, team=None, at=at)
    name, names = known_as(user), _own_names(user)
    former_people.replace_name(user, names=names, by=name)
    _replace_in_comments(user, names, by=name)
    leaving.delete_account(user, names=names, known_as=name, by=by, at=at)
    return name


def _own_names(user: User) -> set[str]:
    """Returns the names that the person has had and no other person has. A name that two people
    have stays where only a name is stored: it may be the other one's."""
    names = former_people.names_of(user)
    written = Comment.objects.filter(author=user)
    names |= set(written.values_list("author_name", flat=True).distinct())
    others = User.objects.exclude(pk=user.pk).filter(display_name__in=names)
    return names - set(others.values_list("display_name", flat=True)) - {""}


def _replace_in_comments(user: User, names: Collection[str], *, by: str) -> None:
    Comment.objects.filter(author=user).update(author_name=by)
    mentions = Mention.objects.filter(user=user).select_related("comment").order_by("comment")
    spelled = {*names, user.display_name}
    spelled |= {words[0] for name in spelled if (words := name.split())}
    if not spelled:
        return
    longest_first = sorted(map(re.escape, spelled), key=len, reverse=True)
    mentioned = re.compile(rf"(?<!\w)@(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE)
    for mention in mentions:
        comment = mention.comment
        comment.text = mentioned.sub(f"@{by}", comment.text)
        comment.save(update_fields=["text"])
