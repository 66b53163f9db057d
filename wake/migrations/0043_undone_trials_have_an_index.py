from django.db import migrations, models
from django.db.models import Q

from database.schema.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    """Finds the approvals of rules that people undid lately."""

    atomic = False

    dependencies = [
        ("wake", "0042_rules_leave_deliveries_to_people"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="trial",
            index=models.Index(
                fields=["taken_back_at"],
                condition=Q(taken_back_at__isnull=False),
                name="undone_trials",
            ),
        ),
    ]
