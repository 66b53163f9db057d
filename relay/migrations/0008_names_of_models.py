"""Renames models only in Django's state. Their tables and columns keep their names, so a process of
version 0.1 can still read and write them."""

from typing import Any

from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL


def _runs_of(model: str, **options: Any) -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(**({"on_delete": CASCADE} | options), related_name="runs", to=model)


class Migration(migrations.Migration):
    dependencies = [("relay", "0007_plain_labels")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Dispatch", "Run"),
                migrations.AlterModelTable("run", "relay_dispatch"),
                migrations.AlterModelOptions("run", {}),
                migrations.AlterField("run", "agent", _runs_of("accounts.agent")),
                migrations.AlterField("run", "task", _runs_of("relay.task")),
                migrations.AlterField(
                    "run",
                    "connector",
                    _runs_of("relay.connector", null=True, on_delete=SET_NULL),
                ),
                migrations.RenameModel("Surfaced", "TaskDelivery"),
                migrations.AlterModelTable("taskdelivery", "relay_surfaced"),
                migrations.AlterModelOptions("taskdelivery", {}),
                migrations.AlterField(
                    "taskdelivery",
                    "delivery",
                    models.OneToOneField(
                        on_delete=CASCADE,
                        primary_key=True,
                        related_name="task_delivery",
                        serialize=False,
                        to="wake.delivery",
                    ),
                ),
                migrations.AlterField(
                    "taskdelivery",
                    "task",
                    models.ForeignKey(
                        on_delete=CASCADE, related_name="task_deliveries", to="relay.task"
                    ),
                ),
            ]
        )
    ]
