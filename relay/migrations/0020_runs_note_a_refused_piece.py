from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("relay", "0019_messages_have_an_idempotency_key")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="refused_from",
            field=models.PositiveIntegerField(null=True),
        ),
    ]
