from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0061_figures_are_kept")]

    operations = [
        migrations.AddField("delivery", "traceparent", models.CharField(max_length=55, null=True)),
    ]
