"""Adds the Idempotency-Key of a message to an existing task."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("relay", "0018_indexes_that_no_query_needs")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="idempotency_key",
            field=models.CharField(max_length=255, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="idempotency_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
    ]
