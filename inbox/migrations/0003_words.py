from django.db import migrations, models


def read_again(apps, schema_editor):
    """Also learns the words of deliveries that were already read."""
    if schema_editor.connection.vendor == "postgresql":
        apps.get_model("inbox", "Searchable").objects.all().delete()
        apps.get_model("inbox", "IndexedUntil").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("inbox", "0002_search")]

    operations = [
        migrations.CreateModel(
            name="Word",
            fields=[
                (
                    "text",
                    models.CharField(max_length=100, primary_key=True, serialize=False),
                ),
            ],
        ),
        migrations.RunPython(read_again, migrations.RunPython.noop),
    ]
