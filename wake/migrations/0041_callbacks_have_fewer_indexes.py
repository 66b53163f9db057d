import django.db.models.deletion
from django.db import migrations, models

from database.schema.concurrent_indexes import DropForeignKeyIndex


class Migration(migrations.Migration):
    """Drops indexes whose column leads another index. Each callback wrote to them three times."""

    atomic = False

    dependencies = [
        ("wake", "0040_people_end_assignments"),
    ]

    operations = [
        DropForeignKeyIndex(
            model_name="callback",
            name="team",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="callbacks",
                to="accounts.team",
            ),
        ),
        DropForeignKeyIndex(
            model_name="callbackattempt",
            name="callback",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="attempts",
                to="wake.callback",
            ),
        ),
    ]
