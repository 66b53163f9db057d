from django.db import migrations, models
from django.db.models import Q

from database.schema.constraints import AddCheckInSteps


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("wake", "0032_deliveries_have_a_quorum")]

    operations = [
        AddCheckInSteps(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=Q(quorum__isnull=True) | Q(quorum__range=(2, 5)),
                name="quorum_of_two_to_five",
            ),
        ),
    ]
