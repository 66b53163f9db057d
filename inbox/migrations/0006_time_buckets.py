from django.db import migrations

import inbox.models.words


class Migration(migrations.Migration):
    """Renames the field only in Django; the column and its index stay."""

    dependencies = [("inbox", "0005_phrases_are_content")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("searchable", "shelves", "time_buckets"),
                migrations.AlterField(
                    "searchable",
                    "time_buckets",
                    inbox.models.words.TimeBucketsField(db_column="shelves"),
                ),
            ]
        )
    ]
