"""Adds the kind of a callback. The rows that are there become answers, which most of them are,
without being rewritten; the next migration corrects the others. What a process of version 0.1
inserts from now on gets the other default, which is right where there is no answer, and is not read
where there is one (wake/callbacks/kinds.py)."""

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
