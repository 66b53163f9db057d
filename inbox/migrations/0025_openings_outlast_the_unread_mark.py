from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds a nullable column, so that "Mark as unread" no longer deletes the row. Processes of the old
    version still delete it."""

    dependencies = [
        ('inbox', '0024_failures_are_notified'),
    ]

    operations = [
        migrations.AddField(
            model_name='reading',
            name='marked_unread_at',
            field=models.DateTimeField(null=True),
        ),
    ]
