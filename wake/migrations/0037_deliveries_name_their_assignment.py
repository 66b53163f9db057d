import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The columns `steps_done` and `escalates_at` of an assignment stay in the table, because
    processes of the previous version still write them."""

    dependencies = [
        ("accounts", "0024_people_sign_in_with_a_provider"),
        ("wake", "0036_rules_answer"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("assignment", "assignments_to_escalate"),
                migrations.RemoveField("assignment", "steps_done"),
                migrations.RemoveField("assignment", "escalates_at"),
                migrations.AlterField(
                    "assignment",
                    "delivery",
                    models.UUIDField(
                        db_column="delivery_id",
                        default=uuid.uuid4,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                migrations.RenameField("assignment", "delivery", "id"),
            ]
        ),
        migrations.AddField(
            "assignment",
            "team",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="accounts.team",
            ),
        ),
        migrations.AddField("assignment", "current_until", models.DateTimeField(null=True)),
        migrations.AddField(
            "delivery",
            "assignment",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="deliveries",
                to="wake.assignment",
            ),
        ),
        migrations.AddField(
            "delivery", "steps_done", models.SmallIntegerField(db_default=0, default=0)
        ),
        migrations.AddField("delivery", "escalates_at", models.DateTimeField(null=True)),
    ]
