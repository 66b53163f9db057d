"""Defines the heartbeats of workers."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """Records when a worker last took a job from the broker. Each queue has one row, and /readyz
    reads it."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
