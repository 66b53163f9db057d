from django.db import migrations

from database.schema.constraints import CheckFieldInSteps


class Migration(migrations.Migration):
    """Adds the check that 0048 left out, because it reads all deliveries."""

    atomic = False

    dependencies = [("wake", "0062_deliveries_have_a_trace")]

    operations = [CheckFieldInSteps("delivery", "claim_within_seconds")]
