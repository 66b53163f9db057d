"""Renames a model only in Django's state. Its table and constraint keep their names, so a process
of version 0.1 can still read and write it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inbox", "0006_time_buckets")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Preset", "SavedReply"),
                migrations.AlterModelTable("savedreply", "inbox_preset"),
                migrations.AlterModelOptions(
                    "savedreply", {"verbose_name_plural": "saved replies"}
                ),
            ]
        )
    ]
