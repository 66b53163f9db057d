"""Defines votes: the approvals of a delivery that needs more than one."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models import User
from database.encrypted_columns import ContentTextField
from wake.models.deliveries import Delivery, must_be_signed
from wake.models.sights import Place

IS_SIGNED = Q(place=Place.PASSKEY)
MUST_BE_SIGNED = must_be_signed(
    Q(delivery__needs_signature=True),
    Q(delivery__irreversible=True),
    Q(delivery__team__signs_irreversible=True),
)


class VoteQuerySet(models.QuerySet["Vote"]):
    def that_count(self) -> VoteQuerySet:
        """Leaves out votes without a signature if the delivery needs one now. Such votes are older
        than the team's setting."""
        return self.filter(IS_SIGNED | ~MUST_BE_SIGNED)


class Vote(models.Model):
    """Records that a person approved a delivery, as they saw it. When enough people have approved,
    the last vote creates the response (wake/assignment/votes.py). A rejection or a redirect is not
    a vote, because it decides immediately."""

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
    # As in a response: the place of the vote, and whether everything was in sight there.
    place = models.CharField(max_length=8, choices=Place, blank=True, default="", db_default="")
    all_in_sight = models.BooleanField(null=True)
    # As in a response: how the person was signed in, and when they first opened the page.
    amr = models.CharField(max_length=20, blank=True, default="", db_default="")
    auth_time = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)
    # As in a response: the signature of the person's passkey.
    signature_json: models.TextField[str, str] = ContentTextField(
        blank=True, default="", db_default=""
    )

    objects = VoteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "user"], name="one_vote_a_person")
        ]
        indexes = [models.Index(fields=["user"], name="votes_of_a_person")]

    def __str__(self) -> str:
        return f"Approved by {self.name}"
