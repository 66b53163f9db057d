"""Defines votes: the approvals of a delivery that needs more than one."""

from __future__ import annotations

from django.db import models

from accounts.models import User
from database.encrypted_columns import ContentTextField
from wake.models.deliveries import Delivery
from wake.models.responses import Response
from wake.models.sights import Place


class Vote(models.Model):
    """Stores that a person approved a delivery, as they saw it. When enough people have, the last
    vote makes the response (wake/assignment/votes.py). A rejection or a redirect is no vote: it
    decides at once."""

    delivery = models.ForeignKey(
        Delivery, on_delete=models.CASCADE, related_name="votes", db_index=False
    )
    user = models.ForeignKey(
        User, null=True, on_delete=models.SET_NULL, related_name="votes", db_index=False
    )
    name = models.CharField(max_length=80)
    content_hash = models.CharField(max_length=64)
    feedback: models.TextField[str, str] = ContentTextField(blank=True)
    voted_at = models.DateTimeField()
    # As of a response: where it was given, and whether everything was in sight there.
    place = models.CharField(max_length=8, choices=Place, blank=True, default="", db_default="")
    all_in_sight = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "user"], name="one_vote_a_person")
        ]
        indexes = [models.Index(fields=["user"], name="votes_of_a_person")]

    def __str__(self) -> str:
        return f"Approved by {self.name}"

    def is_part_of(self, response: Response) -> bool:
        """Returns whether the response was made by votes, and not by one person."""
        return bool(response.quorum_json) and response.status == Response.Status.APPROVED
