"""Adds indexes of the rows that have a value in these columns, which most rows do not. They replace
the indexes that Django adds for foreign keys (0018)."""

from django.db import migrations, models
from django.db.models import Q

from database.schema.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("relay", "0016_tasks_refer_to_earlier_tasks")]

    operations = [
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["message"], condition=Q(message__isnull=False), name="events_of_a_message"
            ),
        ),
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["artifact"],
                condition=Q(artifact__isnull=False),
                name="events_of_an_artifact",
            ),
        ),
        AddIndexConcurrently(
            "run",
            models.Index(
                fields=["connector"],
                condition=Q(connector__isnull=False),
                name="runs_of_a_connector",
            ),
        ),
        AddIndexConcurrently(
            "task",
            models.Index(
                fields=["status_message"],
                condition=Q(status_message__isnull=False),
                name="tasks_of_a_status_message",
            ),
        ),
    ]
