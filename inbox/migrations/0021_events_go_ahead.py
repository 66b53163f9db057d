from django.db import migrations, models


class Migration(migrations.Migration):
    """Changes labels, which are not in the database."""

    dependencies = [
        ('inbox', '0020_quiet_hours_of_channels_have_both_ends'),
    ]

    operations = [
        migrations.AlterField(
            model_name='notification',
            name='event',
            field=models.CharField(choices=[('question', 'Questions and outputs that wait for an answer'), ('alert', 'Alerts'), ('closing', 'Deadlines that are close'), ('assumed', 'Agents that went ahead without an answer'), ('assigned', 'Deliveries assigned to me'), ('mention', 'Comments that mention me'), ('digest', 'The digest'), ('code', 'The code that verifies the channel'), ('test', 'A test')], max_length=8),
        ),
    ]
