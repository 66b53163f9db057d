import database.encrypted_columns
from django.db import migrations, models

PLACES = [
    ("page", "Its page"),
    ("list", "The list"),
    ("passkey", "Its page, with a passkey"),
    ("bulk", "Several together"),
    ("slack", "Slack"),
    ("rule", "A rule"),
]


def _signature() -> models.Field:
    return database.encrypted_columns.ContentTextField(blank=True, default="", db_default="")


def _place() -> models.Field:
    return models.CharField(blank=True, choices=PLACES, db_default="", default="", max_length=8)


class Migration(migrations.Migration):
    dependencies = [("wake", "0057_receipts_are_logged")]

    operations = [
        migrations.AddField(
            "delivery", "needs_signature", models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField(
            "ruleversion", "needs_signature", models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField("response", "signature_json", _signature()),
        migrations.AddField("vote", "signature_json", _signature()),
        migrations.AddField("receipt", "signature_disclosures", _signature()),
        migrations.AlterField("response", "place", _place()),
        migrations.AlterField("vote", "place", _place()),
    ]
