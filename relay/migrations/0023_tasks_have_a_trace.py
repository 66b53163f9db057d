from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("relay", "0022_public_is_the_internet")]

    operations = [
        migrations.AddField("task", "traceparent", models.CharField(max_length=55, null=True)),
    ]
