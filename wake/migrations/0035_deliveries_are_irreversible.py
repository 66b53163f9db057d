from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0034_rules_make_agents_wait")]

    operations = [
        migrations.AddField(
            "delivery", "irreversible", models.BooleanField(default=False, db_default=False)
        ),
    ]
