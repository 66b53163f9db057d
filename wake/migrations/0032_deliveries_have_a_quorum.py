from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0031_people_vote")]

    operations = [
        migrations.AddField("delivery", "quorum", models.PositiveSmallIntegerField(null=True)),
    ]
