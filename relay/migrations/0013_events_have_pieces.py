from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('relay', '0012_tasks_count_their_bytes'),
    ]

    operations = [
        migrations.AddField(
            model_name='artifact',
            name='begins',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='event',
            name='first_part',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='event',
            name='part_count',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='event',
            name='is_last_piece',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
