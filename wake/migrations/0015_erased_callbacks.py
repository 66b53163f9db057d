from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery


def note_when(apps: Any, schema_editor: Any) -> None:
    """Until now, only the delivery recorded that the content of its callback was erased."""
    erased = apps.get_model("wake", "Delivery").objects.filter(erased_at__isnull=False)
    callbacks = apps.get_model("wake", "Callback").objects.filter(
        response__delivery__erased_at__isnull=False
    )
    when = erased.filter(response=OuterRef("response")).values("erased_at")[:1]
    callbacks.update(erased_at=Subquery(when))


class Migration(migrations.Migration):
    dependencies = [("wake", "0014_pushes")]

    operations = [migrations.RunPython(note_when, migrations.RunPython.noop)]
