from django.db import migrations, models

from database.schema.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("wake", "0029_rules_escalate")]

    operations = [
        AddIndexConcurrently(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("escalates_at__isnull", False)),
                fields=["escalates_at"],
                name="assignments_to_escalate",
            ),
        ),
    ]
