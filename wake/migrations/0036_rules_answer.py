import django.core.validators
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0024_people_sign_in_with_a_provider"),
        ("wake", "0035_deliveries_are_irreversible"),
    ]

    operations = [
        migrations.CreateModel(
            name="TriedUntil",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="tried_until",
                        serialize=False,
                        to="accounts.agent",
                    ),
                ),
                ("activity_us", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="AnsweringRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=60,
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
                    models.CharField(
                        choices=[("shadow", "Shadow"), ("on", "On"), ("off", "Off")], max_length=6
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
                ("on_since", models.DateTimeField(null=True)),
                ("on_by", models.CharField(blank=True, max_length=80)),
                ("on_reason", models.CharField(blank=True, max_length=280)),
                ("stopped_itself_at", models.DateTimeField(null=True)),
                ("counted_on", models.DateField(null=True)),
                ("counted", models.PositiveIntegerField(default=0)),
                (
                    "team",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answering_rules",
                        to="accounts.team",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AnsweringVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
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
                ("expires_at", models.DateTimeField()),
                ("number", models.PositiveIntegerField()),
                ("most_a_day", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=80)),
                (
                    "rule",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="wake.answeringrule",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="response",
            name="rule_version",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="wake.answeringversion",
            ),
        ),
        migrations.CreateModel(
            name="Trial",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(null=True)),
                ("approved_at", models.DateTimeField(null=True)),
                ("taken_back_at", models.DateTimeField(null=True)),
                (
                    "delivery",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trials",
                        to="wake.delivery",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trials",
                        to="wake.answeringversion",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="answeringrule",
            index=models.Index(
                condition=models.Q(("removed_at__isnull", True)),
                fields=["team", "created_at"],
                name="answering_rules_of_a_team",
            ),
        ),
        migrations.AddConstraint(
            model_name="answeringversion",
            constraint=models.UniqueConstraint(
                fields=("rule", "number"), name="one_number_an_answering_version"
            ),
        ),
        migrations.AddIndex(
            model_name="trial",
            index=models.Index(fields=["version", "-created_at"], name="trials_of_a_version"),
        ),
        migrations.AddIndex(
            model_name="trial",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["due_at"],
                name="trials_to_answer",
            ),
        ),
        migrations.AddConstraint(
            model_name="trial",
            constraint=models.UniqueConstraint(
                fields=("delivery", "version"), name="one_trial_a_version"
            ),
        ),
    ]
