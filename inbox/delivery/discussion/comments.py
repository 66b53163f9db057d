"""Writes, removes and lists the comments on a delivery."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.access.objects import NotAllowed, is_owner
from accounts.audit import person, record
from accounts.models import Membership, User
from inbox.delivery.discussion.mentions import mentioned_in
from inbox.models import Comment, Mention
from inbox.notifications.channels.recording import record_mentions
from wake.models import Delivery

MAX_COMMENTS = 200


class NoLongerOpen(Exception):
    """The content of this delivery was erased, so it cannot be discussed any more."""


class TooManyComments(Exception):
    """This delivery has 200 comments, which is the most. Remove one first."""


@transaction.atomic
def write_comment(
    delivery: Delivery, text: str, *, pk: UUID, by: User, address: str = "", at: datetime
) -> None:
    """Stores a comment and notifies the people whom it mentions. Raises NotAllowed, NoLongerOpen
    and TooManyComments. The form brings the id, so that a comment that is sent twice is stored
    once."""
    # Until this comment is stored, the lock delays other comments and the erasure of the delivery.
    locked = Delivery.objects.select_for_update().get(pk=delivery.pk)
    if not Membership.objects.filter(user=by, team_id=locked.team_id).exists():
        raise NotAllowed(NotAllowed.__doc__)
    if Comment.objects.filter(pk=pk).exists():
        return
    if locked.erased_at is not None:
        raise NoLongerOpen(NoLongerOpen.__doc__)
    if Comment.objects.filter(delivery=locked, removed_at=None).count() >= MAX_COMMENTS:
        raise TooManyComments(TooManyComments.__doc__)
    comment = Comment.objects.create(
        pk=pk, delivery=locked, author=by, author_name=by.display_name, text=text, written_at=at
    )
    mentions = Mention.objects.bulk_create(
        Mention(user=user, delivery=locked, comment=comment)
        for user in mentioned_in(text, team_id=locked.team_id, by=by)
    )
    record_mentions(mentions, delivery=locked, at=at)
    actor = person(by, address)
    record("delivery.commented", by=actor, of=locked, team=locked.team_id, at=at, comment=str(pk))


@transaction.atomic
def remove_comment(
    delivery: Delivery, pk: UUID, *, by: User, address: str = "", at: datetime
) -> None:
    """Removes the words of a comment. The author of the comment and owners of the team may do that.
    Raises Comment.DoesNotExist and NotAllowed."""
    comment = Comment.objects.select_for_update().get(pk=pk, delivery=delivery)
    if comment.author_id != by.pk and not is_owner(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if comment.removed_at is not None:
        return
    comment.text, comment.removed_at = "", at
    comment.save(update_fields=["text", "removed_at"])
    comment.mentions.all().delete()
    actor = person(by, address)
    team_id = delivery.team_id
    record("delivery.comment_removed", by=actor, of=delivery, team=team_id, at=at, comment=str(pk))


@dataclass(frozen=True, slots=True)
class Discussion:
    """Holds the comments on a delivery, oldest first, as one person reads them. `new_id` is for the
    next comment. `own_count` distinguishes the draft of the new comment from those of earlier
    comments."""

    comments: Sequence[Comment]
    own_count: int
    new_id: UUID

    @property
    def has_new_mention(self) -> bool:
        return any(comment.is_new_mention for comment in self.comments)  # type: ignore[attr-defined]


def discussion_of(delivery: Delivery, *, reader: User) -> Discussion:
    """Reads the discussion of a delivery from `find_delivery`. Each comment has `is_new_mention`,
    which is True if the comment mentions the reader and the reader has not seen the mention. Index:
    comments_on_a_delivery."""
    if not delivery.has_comments:  # type: ignore[attr-defined]
        return Discussion([], own_count=0, new_id=uuid4())
    unseen = Mention.objects.unseen().filter(user=reader, comment=OuterRef("pk"))
    rows = Comment.objects.filter(delivery=delivery).annotate(is_new_mention=Exists(unseen))
    comments = list(rows.order_by("written_at", "pk"))
    own_count = sum(comment.author_id == reader.pk for comment in comments)
    return Discussion(comments, own_count, new_id=uuid4())


def erase_comments(delivery_ids: Collection[UUID]) -> None:
    """Erases the words of the comments, together with the content of their deliveries."""
    Comment.objects.filter(delivery__in=delivery_ids).update(text="")
    Mention.objects.filter(delivery__in=delivery_ids).delete()
