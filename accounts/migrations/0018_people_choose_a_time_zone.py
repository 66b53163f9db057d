from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0017_agents_can_be_archived")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="time_zone_chosen_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
