from django.db import migrations, models
from django.db.models import Q

from database.schema.constraints import AddCheckInSteps


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0018_people_choose_a_time_zone")]

    operations = [
        AddCheckInSteps(
            model_name="agent",
            constraint=models.CheckConstraint(
                condition=Q(archived_at__isnull=True) | Q(paused_at__isnull=False),
                name="archived_agents_are_paused",
            ),
        ),
    ]
