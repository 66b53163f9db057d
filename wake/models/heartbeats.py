"""Whether anybody works."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """When a worker last showed that it takes jobs from the broker; one row a queue, read by
    /readyz."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
