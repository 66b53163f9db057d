from django.db import migrations, models
from django.db.models import Q

from database.schema.concurrent_indexes import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    """Leaves erased deliveries out of the inbox's index. The inbox never shows them, and without an
    answer they stayed in the index for ever."""

    atomic = False

    dependencies = [("wake", "0058_people_sign_answers")]

    operations = [
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                fields=["team", "mode", "type", "-created_at"],
                condition=Q(
                    acknowledged_at__isnull=True,
                    answered_at__isnull=True,
                    superseded_at__isnull=True,
                )
                & Q(erased_at__isnull=True),
                name="waiting_of_a_team",
            ),
        ),
        RemoveIndexConcurrently(model_name="delivery", name="inbox_of_a_team"),
    ]
