from typing import Any

from django.db import migrations

ROWS_AT_ONCE = 1_000


def name_pushes(apps: Any, schema_editor: Any) -> None:
    """Commits each batch by itself, so that no sender waits for long."""
    callbacks = apps.get_model("wake", "Callback").objects.using(schema_editor.connection.alias)
    unnamed = callbacks.filter(about__isnull=False, kind="answer").values_list("pk", flat=True)
    while ids := list(unnamed[:ROWS_AT_ONCE]):
        callbacks.filter(pk__in=ids).update(kind="push")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("wake", "0019_callbacks_have_a_kind")]

    operations = [migrations.RunPython(name_pushes, migrations.RunPython.noop)]
