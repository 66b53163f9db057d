"""Adds the index of the events whose pushes are still to be made."""

from django.db import migrations, models
from django.db.models import Q

from database.schema.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("relay", "0014_events_are_pushed_later")]

    operations = [
        AddIndexConcurrently(
            "event",
            models.Index(
                fields=["push_due_at", "id"],
                condition=Q(push_due_at__isnull=False),
                name="events_with_due_pushes",
            ),
        ),
    ]
