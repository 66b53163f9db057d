"""Takes the default times from the database's clock. Only Django knows the default, so this changes
nothing in the database."""

from typing import Any

from django.db import migrations, models

from database.clock import database_now


def _time() -> "models.DateTimeField[Any, Any]":
    return models.DateTimeField(default=database_now)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_signed_tips")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("agent", "created_at", _time()),
                migrations.AlterField("apikey", "created_at", _time()),
                migrations.AlterField("claimedid", "created_at", _time()),
                migrations.AlterField("membership", "created_at", _time()),
                migrations.AlterField("secondfactor", "created_at", _time()),
                migrations.AlterField("signingsecret", "created_at", _time()),
                migrations.AlterField("team", "created_at", _time()),
                migrations.AlterField("auditevent", "at", _time()),
            ]
        )
    ]
