from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0054_rules_limit_the_time_for_a_claim")]

    operations = [
        migrations.AlterField(
            "response",
            "picked_up_by",
            models.CharField(
                blank=True,
                choices=[
                    ("poll", "Poll"),
                    ("sweep", "Bulk sweep"),
                    ("webhook", "Callback"),
                    ("machine", "Connector"),
                    ("claim", "Claim"),
                    ("outcome", "Outcome"),
                ],
                max_length=7,
            ),
        ),
    ]
