"""Defines the comments that people write to each other about a delivery."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models import User
from database.encrypted_columns import ContentTextField
from wake.models import Delivery


class Comment(models.Model):
    """Stores a person's comment on a delivery for the team. Agents never read comments."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    delivery = models.ForeignKey(
        Delivery, on_delete=models.CASCADE, related_name="comments", db_index=False
    )
    author = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=80)
    # Empty after the comment was removed, and after the content of the delivery was erased.
    text = ContentTextField(max_length=4_000)
    written_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["delivery", "written_at"], name="comments_on_a_delivery"),
        ]

    def __str__(self) -> str:
        return f"Comment of {self.author_name} on {self.delivery_id}"


class MentionQuerySet(models.QuerySet["Mention"]):
    def unseen(self) -> MentionQuerySet:
        """Returns mentions that the mentioned person has not seen. Index: unseen_mentions."""
        return self.filter(seen_at__isnull=True)

    def of_person(self, user: Any) -> MentionQuerySet:
        """Returns the mentions of this person in teams to which they still belong."""
        return self.filter(user=user, delivery__team__memberships__user=user)


class Mention(models.Model):
    """Records that a comment mentions a person, and when they first saw it."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="+")
    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    seen_at = models.DateTimeField(null=True)

    objects = MentionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["user", "-id"], name="mentions_of_a_person"),
            models.Index(
                fields=["user", "delivery"],
                condition=Q(seen_at__isnull=True),
                name="unseen_mentions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.comment}"
