from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0053_deliveries_ask_for_receipts")]

    operations = [
        migrations.AddField(
            "ruleversion", "claim_within_seconds", models.PositiveIntegerField(null=True)
        ),
    ]
