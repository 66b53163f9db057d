"""Replaces, in comments, the name of a person whose account is removed. The person's own comments
stay."""

from __future__ import annotations

import re
from collections.abc import Collection

from accounts.models import User
from inbox.models import Comment, Mention


def names_of(user: User) -> set[str]:
    """Returns the names that comments use for the person."""
    written = Comment.objects.filter(author=user)
    return set(written.values_list("author_name", flat=True).distinct())


def replace_name(user: User, *, names: Collection[str], by: str) -> None:
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
