"""Takes the default times from the database's clock. Only Django knows the default, so this changes
nothing in the database."""

from typing import Any

from django.db import migrations, models

from database.clock import database_now


def _time() -> "models.DateTimeField[Any, Any]":
    return models.DateTimeField(default=database_now)


class Migration(migrations.Migration):
    dependencies = [("relay", "0009_messages_name_accepted_output_modes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("callerkey", "created_at", _time()),
                migrations.AlterField("card", "created_at", _time()),
                migrations.AlterField("card", "updated_at", _time()),
            ]
        )
    ]
