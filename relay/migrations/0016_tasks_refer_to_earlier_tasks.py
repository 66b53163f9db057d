"""Adds the links between tasks and the earlier tasks that they refer to."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("relay", "0015_events_with_due_pushes")]

    operations = [
        migrations.CreateModel(
            name="TaskReference",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "earlier",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="referred_by",
                        to="relay.task",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="references",
                        to="relay.task",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["earlier", "-id"], name="tasks_that_refer_to_a_task")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("task", "earlier"), name="one_reference_to_a_task"
                    )
                ],
            },
        ),
    ]
