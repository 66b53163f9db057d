"""Defines the rows that the server keeps about its own work."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """Records when a worker last took a job from the broker. Each queue has one row, and /readyz
    reads it."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class EventCounts(models.Model):
    """Counts events of the audit for metrics, in one row (wake/server/metrics/counting.py). A count
    only rises."""

    # The last event that was counted.
    event_id = models.BigIntegerField()
    # The number of deliveries by type, such as {"question": 7}.
    deliveries = models.JSONField(default=dict)
    # The number of responses that agents have picked up, by status, route and who decided. The key
    # has the three with spaces between, as in {"approved poll person": 3}.
    responses = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"Counted up to event {self.event_id}"


class ServerSample(models.Model):
    """Holds figures of one moment. A job keeps one for every five minutes of the last 24 hours
    (wake/server/metrics/samples.py)."""

    # The beginning of the five minutes.
    at = models.DateTimeField(primary_key=True)
    # All that were counted so far, as in EventCounts.
    deliveries = models.BigIntegerField()
    responses = models.BigIntegerField()
    pending_deliveries = models.PositiveIntegerField()
    # Callbacks that have not arrived, without those whose target is suspended.
    waiting_callbacks = models.PositiveIntegerField()
    suspended_callbacks = models.PositiveIntegerField()
    # How long the most overdue row of all queues has been due.
    seconds_overdue = models.FloatField()

    def __str__(self) -> str:
        return f"Figures of {self.at:%Y-%m-%d %H:%M}"


class LastBackup(models.Model):
    """Records the last backup, in one row."""

    finished_at = models.DateTimeField()
    # The other program that made the backup. Empty for `manage.py backup`, which alone knows the
    # folder of its copy, and the size in bytes.
    program = models.CharField(max_length=100, blank=True, default="", db_default="")
    folder = models.TextField(blank=True)
    size = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"Backup of {self.finished_at:%Y-%m-%d %H:%M}"
