"""Adds the kind of a callback. Existing rows become answers without being rewritten, because most
of them are answers; the next migration corrects the others. A process of version 0.1 inserts rows
with the other default. That default is right for a callback without an answer, and is not read for
one with an answer (wake/callbacks/kinds.py)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0018_names_without_the_relay")]

    operations = [
        migrations.AddField(
            "callback",
            "kind",
            models.CharField(db_default="answer", default="answer", max_length=16),
        ),
        migrations.AlterField(
            "callback",
            "kind",
            models.CharField(db_default="push", default="answer", max_length=16),
        ),
    ]
