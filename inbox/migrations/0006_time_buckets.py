from django.db import migrations

import inbox.search.words


class Migration(migrations.Migration):
    """Renames the field in Django only; the column and its index stay."""

    dependencies = [("inbox", "0005_phrases_are_content")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("searchable", "shelves", "time_buckets"),
                migrations.AlterField(
                    "searchable",
                    "time_buckets",
                    inbox.search.words.TimeBucketsField(db_column="shelves"),
                ),
            ]
        )
    ]
