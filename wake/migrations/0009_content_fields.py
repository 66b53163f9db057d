from django.db import migrations

import wake.models.content

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
    """The columns stay as they are, so no table is touched."""

    dependencies = [("wake", "0008_history_by_lane")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(
                    migrations.AlterField(
                        model, name, wake.models.content.ContentTextField(**options)
                    )
                    for model, name, options in TEXTS
                ),
                migrations.AlterField(
                    "callback", "body", wake.models.content.ContentBinaryField()
                ),
                migrations.AlterField(
                    "delivery", "extensions", wake.models.content.ContentJSONField(default=dict)
                ),
            ]
        )
    ]
