import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import database.encrypted_columns


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("wake", "0030_assignments_to_escalate"),
    ]

    operations = [
        migrations.AddField(
            "ruleversion", "needed", models.PositiveSmallIntegerField(db_default=1, default=1)
        ),
        migrations.AddField("response", "quorum_json", models.TextField(blank=True, db_default="", default="")),
        migrations.CreateModel(
            "Vote",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("content_hash", models.CharField(max_length=64)),
                ("feedback", database.encrypted_columns.ContentTextField(blank=True)),
                ("voted_at", models.DateTimeField()),
                (
                    "delivery",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="votes",
                        to="wake.delivery",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="votes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["user"], name="votes_of_a_person")],
                "constraints": [
                    models.UniqueConstraint(fields=("delivery", "user"), name="one_vote_a_person")
                ],
            },
        ),
    ]
