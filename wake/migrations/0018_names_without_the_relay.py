"""Renames fields only in Django's state. Tables and columns keep their names, so a process of
version 0.1 can still read and write them."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("wake", "0017_failing_targets_of_a_kind")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("delivery", "relayed", "is_internal"),
                migrations.AlterField(
                    "delivery",
                    "is_internal",
                    models.BooleanField(db_column="relayed", db_default=False, default=False),
                ),
                migrations.RemoveConstraint("callback", "an_answer_or_news_of_a_task"),
                migrations.RenameField("callback", "relayed_task", "about"),
                migrations.AlterField(
                    "callback", "about", models.UUIDField(db_column="relayed_task", null=True)
                ),
                migrations.AddConstraint(
                    "callback",
                    models.CheckConstraint(
                        condition=Q(response__isnull=False, about__isnull=True)
                        | Q(response__isnull=True, about__isnull=False),
                        name="an_answer_or_news_of_a_task",
                    ),
                ),
                migrations.RemoveConstraint("failingtarget", "one_failing_target_of_a_kind"),
                migrations.RenameField("failingtarget", "is_push", "without_answers"),
                migrations.AlterField(
                    "failingtarget",
                    "without_answers",
                    models.BooleanField(db_column="is_push", db_default=False, default=False),
                ),
                migrations.AddConstraint(
                    "failingtarget",
                    models.UniqueConstraint(
                        fields=["host", "team", "without_answers"],
                        name="one_failing_target_of_a_kind",
                    ),
                ),
            ]
        )
    ]
