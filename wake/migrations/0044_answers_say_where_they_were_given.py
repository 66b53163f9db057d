from django.db import migrations, models

import database.encrypted_columns

PLACES = [
    ("page", "Its page"),
    ("list", "The list"),
    ("bulk", "Several together"),
    ("slack", "Slack"),
    ("rule", "A rule"),
]


class Migration(migrations.Migration):
    dependencies = [("wake", "0043_undone_trials_have_an_index")]

    operations = [
        *(
            migrations.AddField(model, name, field)
            for model in ("response", "vote")
            for name, field in (
                (
                    "place",
                    models.CharField(
                        blank=True, choices=PLACES, db_default="", default="", max_length=8
                    ),
                ),
                ("all_in_sight", models.BooleanField(null=True)),
            )
        ),
        migrations.AddField(
            "response",
            "left_out",
            database.encrypted_columns.ContentTextField(blank=True, db_default="", default=""),
        ),
    ]
