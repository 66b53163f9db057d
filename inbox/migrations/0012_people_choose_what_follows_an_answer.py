from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0011_people_discuss_deliveries")]

    operations = [
        migrations.AddField(
            model_name="preferences",
            name="after_answer",
            field=models.CharField(
                choices=[("list", "Back to the list"), ("next", "Open the next delivery")],
                db_default="list",
                default="list",
                max_length=4,
            ),
        ),
    ]
