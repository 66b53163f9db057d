from typing import Any

from django.db import migrations

AT_ONCE = 1_000


def erase_the_rest(apps: Any, _: Any) -> None:
    """Erases the thread and the provider of deliveries whose other content is already erased."""
    rows = apps.get_model("wake", "Delivery").objects.filter(erased_at__isnull=False)
    last = None
    while ids := _next_ids(rows.exclude(thread="", provider=""), last):
        last = ids[-1]
        rows.filter(pk__in=ids).update(thread="", provider="")


def _next_ids(rows: Any, last: Any) -> list[Any]:
    later = rows.filter(pk__gt=last) if last else rows
    return list(later.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("wake", "0045_a_trial_of_a_rule_is_a_dry_run"),
    ]

    operations = [migrations.RunPython(erase_the_rest, migrations.RunPython.noop)]
