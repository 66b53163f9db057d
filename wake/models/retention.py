"""Stores how long each team keeps content."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models import Team

LONGEST_DAYS = 3_650


class Retention(models.Model):
    """Stores how many days after a delivery's last activity its content is erased. Deliveries that
    are not done by then keep their content. A team without a row keeps content forever."""

    team = models.OneToOneField(
        Team, on_delete=models.CASCADE, primary_key=True, related_name="retention"
    )
    days = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(days__range=(1, LONGEST_DAYS)), name="retention_within_ten_years"
            )
        ]

    def __str__(self) -> str:
        return f"{self.days} days"
