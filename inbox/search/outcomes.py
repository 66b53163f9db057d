"""Names how a delivery ended, for a row's chip and for `status:` in a search."""

from __future__ import annotations

from django.db import models


class OutcomeFilter(models.TextChoices):
    PENDING = "pending", "Pending"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    REDIRECTED = "redirected", "Changed or answered"
    EXPIRED = "expired", "Expired"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    SUPERSEDED = "superseded", "Replaced"
    WITHDRAWN = "withdrawn", "Withdrawn"


PAST = [outcome for outcome in OutcomeFilter if outcome != OutcomeFilter.PENDING]
