from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("wake", "0055_an_outcome_picks_the_answer_up"),
    ]

    operations = [
        migrations.AlterField(
            model_name="response",
            name="picked_up_by",
            field=models.CharField(
                blank=True,
                choices=[
                    ("poll", "Poll"),
                    ("sweep", "Bulk sweep"),
                    ("webhook", "Callback"),
                    ("machine", "Connector"),
                    ("claim", "Claim"),
                    ("outcome", "Outcome"),
                    ("receipt", "Receipt"),
                ],
                max_length=7,
            ),
        ),
    ]
