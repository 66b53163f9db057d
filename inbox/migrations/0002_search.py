import django.db.models.deletion
from django.db import migrations, models

import inbox.models.words


def index_words(apps, schema_editor):
    """SQLite's FTS5 table is made after every migrate instead (inbox/search/fts5.py)."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "CREATE INDEX words_of_deliveries ON inbox_searchable USING gin (words, shelves)"
        )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("inbox", "0001_initial"),
        ("wake", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="IndexedUntil",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="indexed_until",
                        serialize=False,
                        to="accounts.agent",
                    ),
                ),
                ("activity_us", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Searchable",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "delivery",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="searchable",
                        to="wake.delivery",
                    ),
                ),
                ("words", inbox.models.words.WordsField()),
                ("shelves", inbox.models.words.TimeBucketsField()),
            ],
        ),
        migrations.RunPython(index_words, migrations.RunPython.noop),
    ]
