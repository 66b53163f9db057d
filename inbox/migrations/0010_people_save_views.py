from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0009_people_choose_a_density")]

    operations = [
        migrations.AddField(
            model_name="preferences", name="saved_views", field=models.JSONField(null=True)
        ),
    ]
