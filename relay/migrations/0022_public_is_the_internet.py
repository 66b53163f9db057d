from django.db import migrations, models


class Migration(migrations.Migration):
    """Changes labels, which are not in the database."""

    dependencies = [
        ('relay', '0021_erased_tasks_hold_nothing'),
    ]

    operations = [
        migrations.AlterField(
            model_name='card',
            name='access',
            field=models.CharField(choices=[('public', 'Anyone on the internet, without a key'), ('key', 'Any caller key of the team'), ('allowlist', 'Selected caller keys')], default='key', max_length=9),
        ),
    ]
