import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

STATES = [
    ("leaving", "Leaving: copied to a folder, and may still stay"),
    ("stayed", "Stayed here"),
    ("left", "Left for the other server"),
    ("returned", "Left, and came back"),
    ("arrived", "Arrived: stored here, and not opened yet"),
    ("opened", "Opened here"),
    ("dropped", "Dropped before it was opened"),
]
ROLES = [
    ("owner", "Owner: everything"),
    ("reviewer", "Reviewer: answers"),
    ("reader", "Reader: reads"),
]
CLOSES = Q(("state__in", ["leaving", "arrived"])) | Q(
    ("removed_at__isnull", True), ("state", "left")
)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0031_people_come_from_a_directory")]

    operations = [
        migrations.CreateModel(
            "TeamMove",
            [
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="moves",
                        to="accounts.team",
                    ),
                ),
                ("state", models.CharField(choices=STATES, max_length=8)),
                ("slug", models.SlugField()),
                ("name", models.CharField(max_length=80)),
                ("server", models.CharField(max_length=300)),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("removed_at", models.DateTimeField(null=True)),
                ("ledger", models.JSONField(default=dict)),
                ("servers", models.JSONField(default=list)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=CLOSES, fields=("team",), name="one_move_closes_a_team"
                    )
                ]
            },
        ),
        migrations.CreateModel(
            "MovedKey",
            [
                (
                    "digest",
                    models.CharField(
                        editable=False, max_length=64, primary_key=True, serialize=False
                    ),
                ),
                (
                    "move",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="keys",
                        to="accounts.teammove",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "MovedMembership",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "move",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="accounts.teammove",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("membership_id", models.BigIntegerField()),
                ("role", models.CharField(choices=ROLES, max_length=10)),
                ("from_groups", models.BooleanField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("move", "user"), name="one_moved_membership_a_person"
                    )
                ]
            },
        ),
    ]
