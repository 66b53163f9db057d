from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0033_quorum_of_two_to_five")]

    operations = [
        migrations.AddField(
            "delivery", "irreversible", models.BooleanField(default=False, db_default=False)
        ),
    ]
