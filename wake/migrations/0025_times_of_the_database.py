"""Takes the default times from the database's clock. Only Django knows the default, so this changes
nothing in the database."""

from typing import Any

from django.db import migrations, models

from database.clock import database_now


def _time() -> "models.DateTimeField[Any, Any]":
    return models.DateTimeField(default=database_now)


class Migration(migrations.Migration):
    dependencies = [("wake", "0024_deliveries_have_a_mode")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("callback", "created_at", _time()),
                migrations.AlterField("callbackhost", "created_at", _time()),
                migrations.AlterField("draft", "saved_at", _time()),
                migrations.AlterField("response", "answered_at", _time()),
            ]
        )
    ]
