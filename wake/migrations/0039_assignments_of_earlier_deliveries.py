from typing import Any

from django.db import connection, migrations

AT_ONCE = 1_000


def name_assignments(apps: Any, _: Any) -> None:
    """Gives each delivery the assignment that has the delivery's id, and the steps of escalation
    that were stored with that assignment."""
    assignment = apps.get_model("wake", "Assignment").objects.filter(team__isnull=True)
    last = None
    while ids := _next_ids(assignment, last):
        last = ids[-1]
        values = [assignment.model._meta.pk.get_db_prep_value(pk, connection) for pk in ids]
        listed = ", ".join(["%s"] * len(values))
        with connection.cursor() as cursor:
            cursor.execute(DELIVERIES.format(listed), values)
            cursor.execute(ASSIGNMENTS.format(listed), values)


def _next_ids(rows: Any, last: Any) -> list[Any]:
    later = rows.filter(pk__gt=last) if last else rows
    return list(later.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])


DELIVERIES = """
    UPDATE wake_delivery SET assignment_id = old.delivery_id, steps_done = old.steps_done,
           escalates_at = old.escalates_at
      FROM wake_assignment AS old
     WHERE old.delivery_id = wake_delivery.id AND wake_delivery.assignment_id IS NULL
       AND wake_delivery.id IN ({})
"""
ASSIGNMENTS = """
    UPDATE wake_assignment SET team_id = delivery.team_id
      FROM wake_delivery AS delivery
     WHERE delivery.id = wake_assignment.delivery_id AND wake_assignment.delivery_id IN ({})
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("wake", "0038_deliveries_to_escalate")]

    operations = [migrations.RunPython(name_assignments, migrations.RunPython.noop)]
