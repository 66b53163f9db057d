from django.db import migrations, models
from django.db.models import Q

from database.schema.constraints import AddCheckInSteps


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("inbox", "0019_channels_have_quiet_hours")]

    operations = [
        AddCheckInSteps(
            model_name="notificationrule",
            constraint=models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="quiet_hours_of_channels_have_both_ends",
            ),
        ),
    ]
