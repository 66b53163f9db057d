import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0063_times_for_a_claim_are_checked")]

    operations = [
        migrations.AddField(
            "receiptkey",
            "issuer",
            models.CharField(blank=True, db_default="", default="", max_length=300),
        ),
        migrations.CreateModel(
            "CarriedProof",
            [
                (
                    "receipt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="carried_proof",
                        serialize=False,
                        to="wake.receipt",
                    ),
                ),
                ("index", models.BigIntegerField()),
                ("entry", models.JSONField()),
                ("hashes", models.JSONField(default=list)),
                ("note", models.TextField()),
            ],
        ),
    ]
