from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0012_people_choose_what_follows_an_answer")]

    operations = [
        migrations.AddField("reading", "reading_until", models.DateTimeField(null=True)),
    ]
