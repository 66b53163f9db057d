from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0027_checkpoints_are_signed_notes")]

    operations = [
        migrations.AddField(
            "team", "signs_irreversible", models.BooleanField(default=False, db_default=False, editable=False)
        ),
    ]
