from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_teams_require_a_second_factor")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="archived_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
