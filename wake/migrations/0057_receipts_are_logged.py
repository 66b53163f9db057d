"""Makes the log's sweep append the receipts that exist."""

import hashlib

from django.db import migrations

AT_ONCE = 1_000


def append_later(apps, schema_editor):
    waiting = apps.get_model("accounts", "LogWaiting").objects
    receipts = apps.get_model("wake", "Receipt").objects.order_by("pk")
    rows = receipts.values_list("pk", "jwt", "response__delivery__team_id")
    after = None
    while batch := list((rows.filter(pk__gt=after) if after else rows)[:AT_ONCE]):
        waiting.bulk_create(
            [
                waiting.model(
                    kind="receipt",
                    object_id=pk,
                    team_id=team_id,
                    sha256=hashlib.sha256(jwt.encode()).digest(),
                )
                for pk, jwt, team_id in batch
            ],
            ignore_conflicts=True,
        )
        after = batch[-1][0]


class Migration(migrations.Migration):
    dependencies = [
        ("wake", "0056_receipts_are_a_route"),
        ("accounts", "0026_the_log_is_a_tree"),
    ]

    operations = [migrations.RunPython(append_later, migrations.RunPython.noop)]
