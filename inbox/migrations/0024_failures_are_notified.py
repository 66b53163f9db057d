from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds a choice, which is not in the database."""

    dependencies = [
        ('inbox', '0023_quiet_days_have_a_default'),
    ]

    operations = [
        migrations.AlterField(
            model_name='notification',
            name='event',
            field=models.CharField(choices=[('question', 'Questions and outputs that wait for an answer'), ('alert', 'Alerts'), ('closing', 'Deadlines that are close'), ('assumed', 'Agents that went ahead without an answer'), ('failed', 'Actions that failed after approval'), ('assigned', 'Deliveries assigned to me'), ('mention', 'Comments that mention me'), ('digest', 'The digest'), ('code', 'The code that verifies the channel'), ('test', 'A test')], max_length=8),
        ),
    ]
