from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0008_reminders")]

    operations = [
        migrations.AddField(
            model_name="preferences",
            name="density",
            field=models.CharField(
                choices=[
                    ("comfortable", "Comfortable"),
                    ("compact", "Compact: one line for each delivery"),
                ],
                db_default="comfortable",
                default="comfortable",
                max_length=11,
            ),
        ),
    ]
