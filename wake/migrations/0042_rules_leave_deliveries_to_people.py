from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("wake", "0041_callbacks_have_fewer_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="answeringrule",
            name="counts_refusals_after",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="answeringversion",
            name="ask_people_days",
            field=models.PositiveSmallIntegerField(db_default=1, default=1),
        ),
    ]
