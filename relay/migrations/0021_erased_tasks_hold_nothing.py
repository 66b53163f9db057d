from typing import Any

from django.db import migrations


def count_nothing(apps: Any, schema_editor: Any) -> None:
    """Erased tasks still counted as content of their contexts."""
    erased = apps.get_model("relay", "Task").objects.filter(erased_at__isnull=False)
    erased.exclude(stored_bytes=0).update(stored_bytes=0)


class Migration(migrations.Migration):
    dependencies = [("relay", "0020_runs_note_a_refused_piece")]

    operations = [migrations.RunPython(count_nothing, migrations.RunPython.noop)]
