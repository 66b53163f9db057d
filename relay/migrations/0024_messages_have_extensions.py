from django.db import migrations, models

import database.encrypted_columns


class Migration(migrations.Migration):
    dependencies = [("relay", "0023_tasks_have_a_trace")]

    operations = [
        migrations.AddField(
            "message",
            "extensions",
            models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.AddField(
            "message",
            "request_metadata_json",
            database.encrypted_columns.ContentTextField(blank=True, db_default="", default=""),
        ),
    ]
