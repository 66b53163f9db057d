import pages.characters.names
import database.clock
import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0022_people_change_their_address'),
    ]

    operations = [
        migrations.CreateModel(
            name='UsedChallenge',
            fields=[
                ('digest', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('used_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='Passkey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, validators=[django.core.validators.RegexValidator('^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*\\Z', 'Control characters are not allowed here.'), pages.characters.names.visible])),
                ('credential_id', models.BinaryField(max_length=1023, unique=True)),
                ('public_key', models.BinaryField()),
                ('sign_count', models.BigIntegerField(default=0, editable=False)),
                ('transports', models.JSONField(default=list, editable=False)),
                ('is_multi_device', models.BooleanField(default=False, editable=False)),
                ('is_backed_up', models.BooleanField(default=False, editable=False)),
                ('created_at', models.DateTimeField(default=database.clock.database_now)),
                ('last_used_at', models.DateTimeField(editable=False, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passkeys', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='PasskeyNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('added', 'Added'), ('removed', 'Removed'), ('copied', 'Copied')], max_length=10)),
                ('passkey', models.CharField(max_length=80)),
                ('email', models.EmailField(max_length=254)),
                ('happened_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(db_index=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
    ]
