"""Changes the project's settings to a separate database and data folder for each run."""

import os
import tempfile
from pathlib import Path

RUN = os.getpid()  # each worker of xdist is a process, with a folder and a database of its own
os.environ["WAKE_DATA"] = str(Path(tempfile.gettempdir()) / f"wake-tests-{RUN}")
os.environ["WAKE_DEV"] = "1"
# Only tests of Redis read REDIS_URL. The settings of all tests must not see the variable, because
# each test empties its cache.
_redis_url = os.environ.pop("REDIS_URL", "")
os.environ.pop("CELERY_BROKER_URL", "")  # tests of RabbitMQ make their own

from wake.settings import *  # noqa: E402, F403
from wake.settings import DATABASES, STORAGES, WAKE_DATA  # noqa: E402

os.environ["REDIS_URL"] = _redis_url

# SQLite uses a file, too. With an in-memory database all threads share one connection, so they
# never compete for a lock.
DATABASES["default"]["TEST"] = {
    "NAME": f"test_wake_{RUN}"
    if os.environ.get("DATABASE_URL")
    else str(WAKE_DATA / "test.sqlite3")
}
if "options" in DATABASES["default"].get("OPTIONS", {}):
    # On a busy machine, creating and dropping a database may take longer than the time limit of a
    # request. The data need not survive the server, so a commit does not wait for the disk.
    DATABASES["default"]["OPTIONS"]["options"] += (
        " -c statement_timeout=60000 -c synchronous_commit=off"
    )
if "DIRECT" in DATABASES["default"]:
    DATABASES["default"]["DIRECT"]["NAME"] = DATABASES["default"]["TEST"]["NAME"]
# pytest-django's live server finds static files by their own names, not by hashed ones.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = True
WAKE_DOCUMENTATION = WAKE_DATA / "built-docs"  # only tests of the documentation build it
