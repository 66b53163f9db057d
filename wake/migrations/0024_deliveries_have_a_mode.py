"""Renames a field only in Django's state. The column and its constraints stay as they are, so
processes of the previous version keep working. Only one index gets a new name."""

from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_keys_have_a_mode"),
        ("wake", "0023_failing_targets_are_suspended"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("delivery", "cursor_of_an_agent"),
                migrations.RemoveConstraint("delivery", "one_delivery_an_idempotency_key"),
                migrations.RemoveIndex("delivery", "answers_of_an_agent"),
                migrations.RemoveIndex("delivery", "inbox_of_a_team"),
                migrations.RemoveIndex("delivery", "windows_of_a_team"),
                migrations.RemoveIndex("delivery", "history_of_a_lane"),
                migrations.AlterField(
                    "delivery",
                    "lane",
                    models.CharField(
                        choices=[("live", "Live"), ("test", "Test")],
                        db_column="lane",
                        default="live",
                        max_length=4,
                    ),
                ),
                migrations.RenameField("delivery", "lane", "mode"),
                migrations.AddIndex(
                    "delivery",
                    models.Index(
                        fields=["agent", "mode", "activity_at"],
                        condition=~Q(status="pending"),
                        name="answers_of_an_agent",
                    ),
                ),
                migrations.AddIndex(
                    "delivery",
                    models.Index(
                        fields=["team", "mode", "type", "-created_at"],
                        condition=Q(
                            answered_at__isnull=True,
                            superseded_at__isnull=True,
                            acknowledged_at__isnull=True,
                        ),
                        name="inbox_of_a_team",
                    ),
                ),
                migrations.AddIndex(
                    "delivery",
                    models.Index(
                        fields=["team", "mode", "-activity_at"], name="history_of_a_lane"
                    ),
                ),
                migrations.AddIndex(
                    "delivery",
                    models.Index(
                        fields=["team", "mode", "-expires_at"],
                        condition=Q(expires_at__isnull=False)
                        & (Q(answered_at__isnull=True) | Q(answered_at__gt=F("expires_at"))),
                        name="windows_of_a_team",
                    ),
                ),
                migrations.AddConstraint(
                    "delivery",
                    models.UniqueConstraint(
                        fields=["agent", "mode", "idempotency_key"],
                        condition=Q(idempotency_key__isnull=False),
                        name="one_delivery_an_idempotency_key",
                    ),
                ),
                migrations.AddConstraint(
                    "delivery",
                    models.UniqueConstraint(
                        fields=["agent", "mode", "activity_at"], name="cursor_of_an_agent"
                    ),
                ),
            ]
        ),
        migrations.RenameIndex(
            "delivery", old_name="history_of_a_lane", new_name="history_of_a_team"
        ),
    ]
