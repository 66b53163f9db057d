"""Renames a field only in Django's state, and its small index in the database. The column keeps its
name, so processes of the previous version keep working."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("wake", "0022_deliveries_have_a_reason_of_withdrawal")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("failingtarget", "targets_that_rest"),
                migrations.AlterField(
                    "failingtarget",
                    "rested_at",
                    models.DateTimeField(null=True, db_column="rested_at"),
                ),
                migrations.RenameField("failingtarget", "rested_at", "suspended_at"),
                migrations.AddIndex(
                    "failingtarget",
                    models.Index(
                        fields=["team"],
                        condition=Q(suspended_at__isnull=False),
                        name="targets_that_rest",
                    ),
                ),
            ]
        ),
        migrations.RenameIndex(
            "failingtarget", old_name="targets_that_rest", new_name="suspended_targets"
        ),
        migrations.AlterField(
            "response",
            "picked_up_by",
            models.CharField(
                blank=True,
                choices=[
                    ("poll", "Poll"),
                    ("sweep", "Bulk sweep"),
                    ("webhook", "Callback"),
                    ("machine", "Connector"),
                ],
                max_length=7,
            ),
        ),
    ]
