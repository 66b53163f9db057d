from django.db import migrations, models

from database.schema.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("wake", "0037_deliveries_name_their_assignment")]

    operations = [
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("escalates_at__isnull", False)),
                fields=["escalates_at"],
                name="deliveries_to_escalate",
            ),
        ),
        AddIndexConcurrently(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("current_until__isnull", False)),
                fields=["rule_version"],
                name="current_assignments",
            ),
        ),
    ]
