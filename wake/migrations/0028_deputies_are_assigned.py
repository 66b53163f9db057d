from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_people_can_be_away"),
        ("wake", "0027_files_that_agents_upload"),
    ]

    operations = [
        migrations.AddField(
            "assignedperson",
            "deputy_for",
            models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
    ]
