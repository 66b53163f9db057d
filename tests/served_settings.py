"""Configures a server process that shares a test's database (tests/served.py)."""

import os
import time
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from wake.settings import *  # noqa: F403
from wake.settings import DATABASES, STORAGES

DATABASES["default"]["NAME"] = os.environ["WAKE_TEST_DATABASE"]
if collected := os.environ.get("WAKE_TEST_STATIC"):
    STATIC_ROOT = Path(collected)
else:
    # As in tests/settings.py: static files are not collected here.
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}

if seconds := os.environ.get("WAKE_TEST_BODY_SECONDS"):
    BODY_SECONDS = float(seconds)

if ahead := float(os.environ.get("WAKE_TEST_CLOCK_AHEAD", "0")):
    # As on a machine whose clock is wrong by so many seconds.
    _time, _now = time.time, timezone.now
    time.time = lambda: _time() + ahead
    timezone.now = lambda: _now() + timedelta(seconds=ahead)
