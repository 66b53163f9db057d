from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0028_deputies_are_assigned")]

    operations = [
        migrations.AddField(
            "ruleversion", "escalation", models.JSONField(db_default=[], default=list)
        ),
        migrations.AddField(
            "assignment", "steps_done", models.PositiveSmallIntegerField(db_default=0, default=0)
        ),
        migrations.AddField("assignment", "escalates_at", models.DateTimeField(null=True)),
        migrations.AddField("assignedperson", "added_after", models.PositiveIntegerField(null=True)),
    ]
