from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("relay", "0018_indexes_that_no_query_needs")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="refused_from",
            field=models.PositiveIntegerField(null=True),
        ),
    ]
