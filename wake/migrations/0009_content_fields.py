from django.db import migrations

import database.encrypted_columns

TEXTS = [
    ("callbackattempt", "answer", {"blank": True}),
    ("delivery", "assumption", {"blank": True}),
    ("delivery", "details_json", {"null": True}),
    ("draft", "edited_json", {"null": True}),
    ("draft", "feedback", {"blank": True}),
    ("response", "edited_json", {"null": True}),
    ("response", "feedback", {"blank": True}),
]


class Migration(migrations.Migration):
    """The columns stay as they are, so no table is changed."""

    dependencies = [("wake", "0008_history_by_lane")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(
                    migrations.AlterField(
                        model, name, database.encrypted_columns.ContentTextField(**options)
                    )
                    for model, name, options in TEXTS
                ),
                migrations.AlterField(
                    "callback", "body", database.encrypted_columns.ContentBinaryField()
                ),
                migrations.AlterField(
                    "delivery", "extensions", database.encrypted_columns.ContentJSONField(default=dict)
                ),
            ]
        )
    ]
