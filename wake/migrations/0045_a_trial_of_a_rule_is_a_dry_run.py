from django.db import migrations, models


class Migration(migrations.Migration):
    """Changes the label of a state; the database has no labels."""

    dependencies = [
        ("wake", "0044_answers_say_where_they_were_given"),
    ]

    operations = [
        migrations.AlterField(
            model_name="answeringrule",
            name="state",
            field=models.CharField(
                choices=[("shadow", "Dry run"), ("on", "On"), ("off", "Off")], max_length=6
            ),
        ),
    ]
