"""Renames a model and two fields only in Django's state. The table, its columns, its constraint and
its index keep their names, so a process of the previous version can still read and write them."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("inbox", "0007_saved_replies")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("LastCall", "Reminder"),
                migrations.AlterModelTable("reminder", "inbox_lastcall"),
                migrations.RemoveIndex("preferences", "last_calls"),
                migrations.RenameField("preferences", "wants_last_calls", "wants_reminders"),
                migrations.RenameField("preferences", "last_called_at", "reminded_at"),
                migrations.AlterField(
                    "preferences",
                    "wants_reminders",
                    models.BooleanField(default=False, db_column="wants_last_calls"),
                ),
                migrations.AlterField(
                    "preferences",
                    "reminded_at",
                    models.DateTimeField(null=True, editable=False, db_column="last_called_at"),
                ),
                migrations.AddIndex(
                    "preferences",
                    models.Index(
                        fields=["user"], condition=Q(wants_reminders=True), name="last_calls"
                    ),
                ),
            ]
        )
    ]
