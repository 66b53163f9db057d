from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0020_kinds_of_earlier_callbacks")]

    operations = [
        migrations.AddField(
            "delivery",
            "priority",
            models.CharField(
                choices=[
                    ("low", "Low priority"),
                    ("normal", "Normal priority"),
                    ("high", "High priority"),
                ],
                db_default="normal",
                default="normal",
                max_length=6,
            ),
        ),
    ]
