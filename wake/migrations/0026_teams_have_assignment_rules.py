import uuid

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0020_rules_have_a_version"),
        ("wake", "0025_times_of_the_database"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            "Rule",
            [
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "name",
                    models.CharField(
                        max_length=80,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*\\Z",
                                "Control characters are not allowed here.",
                            )
                        ],
                    ),
                ),
                (
                    "state",
                    models.CharField(choices=[("on", "On"), ("off", "Off")], max_length=6),
                ),
                ("version", models.PositiveIntegerField()),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rules",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("removed_at__isnull", True)),
                        fields=["team", "position"],
                        name="rules_of_a_team",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            "RuleVersion",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("agents", models.JSONField(default=list)),
                ("types", models.JSONField(default=list)),
                ("thread_prefix", models.CharField(blank=True, max_length=128)),
                ("pointer", models.CharField(blank=True, max_length=200)),
                (
                    "operator",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("is", "is"),
                            ("is_not", "is not"),
                            ("at_least", "is at least"),
                            ("at_most", "is at most"),
                            ("contains", "contains"),
                        ],
                        max_length=8,
                    ),
                ),
                ("value", models.CharField(blank=True, max_length=200)),
                ("people", models.JSONField(default=list)),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("owner", "Owner: everything"),
                            ("reviewer", "Reviewer: answers"),
                            ("reader", "Reader: reads"),
                        ],
                        max_length=10,
                    ),
                ),
                ("only_they", models.BooleanField()),
                ("expires_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=80)),
                (
                    "rule",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="wake.rule",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("rule", "number"), name="one_number_a_version")
                ]
            },
        ),
        migrations.CreateModel(
            "Assignment",
            [
                (
                    "delivery",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="assignment",
                        serialize=False,
                        to="wake.delivery",
                    ),
                ),
                ("only_they", models.BooleanField()),
                (
                    "rule_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="wake.ruleversion",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "AssignedPerson",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("taken_at", models.DateTimeField(null=True)),
                (
                    "assignment",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="people",
                        to="wake.assignment",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "assignment"), name="assigned_to_a_person_once"
                    )
                ]
            },
        ),
    ]
