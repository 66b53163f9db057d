from django.db import migrations, models


def begin(apps, schema_editor):
    """Begins behind the events that are in the log now: a counter may begin anywhere, and counting
    millions of events would take long."""
    checkpoint = apps.get_model("accounts", "AuditCheckpoint").objects.first()
    event_id = checkpoint.event_id if checkpoint else 0
    apps.get_model("wake", "EventCounts").objects.create(pk=1, event_id=event_id)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0026_the_log_is_a_tree"),
        ("wake", "0059_the_inbox_has_content"),
    ]

    operations = [
        migrations.CreateModel(
            name="EventCounts",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event_id", models.BigIntegerField()),
                ("deliveries", models.JSONField(default=dict)),
                ("responses", models.JSONField(default=dict)),
            ],
        ),
        migrations.RunPython(begin, migrations.RunPython.noop),
    ]
