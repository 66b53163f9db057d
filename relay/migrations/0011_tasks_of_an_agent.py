"""Adds the index of an agent's list of tasks."""

from django.db import migrations, models

from database.schema.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("relay", "0010_times_of_the_database")]

    operations = [
        AddIndexConcurrently(
            "task",
            models.Index(fields=["agent", "-created_at", "-id"], name="tasks_of_an_agent"),
        ),
    ]
