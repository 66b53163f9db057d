import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import database.clock


class Migration(migrations.Migration):
    dependencies = [("accounts", "0023_people_have_passkeys")]

    operations = [
        migrations.CreateModel(
            "ProviderDocument",
            [
                ("url", models.CharField(max_length=512, primary_key=True, serialize=False)),
                ("content", models.TextField()),
                ("fetched_at", models.DateTimeField()),
                ("asked_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            "Identity",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("issuer", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("email", models.CharField(blank=True, max_length=254)),
                ("connected_at", models.DateTimeField(default=database.clock.database_now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identities",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("issuer", "subject"), name="identity_of_one_person"
                    ),
                    models.UniqueConstraint(fields=("issuer", "user"), name="one_identity_a_person"),
                ]
            },
        ),
        migrations.AddField(
            "membership",
            "from_groups",
            models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
