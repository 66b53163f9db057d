from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0019_archived_agents_are_paused")]

    operations = [
        migrations.AddField(
            model,
            "rules_version",
            models.BigIntegerField(db_default=0, default=0, editable=False),
        )
        for model in ("agent", "team")
    ]
