"""How a delivery ended, or that it still waits: a chip on a line, and `status:` in a search."""

from __future__ import annotations

from django.db import models


class Outcome(models.TextChoices):
    PENDING = "pending", "Pending"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    REDIRECTED = "redirected", "Redirected"
    EXPIRED = "expired", "Window passed"
    ACKNOWLEDGED = "acknowledged", "Got it"
    SUPERSEDED = "superseded", "Replaced by a newer one"
    WITHDRAWN = "withdrawn", "Withdrawn"


PAST = [outcome for outcome in Outcome if outcome != Outcome.PENDING]
