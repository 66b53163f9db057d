"""Shows operators the state of the server in words, and its last 24 hours."""

from __future__ import annotations

import shutil

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from accounts.access.operators import is_operator
from accounts.access.requests import PersonRequest
from database.clock import database_now
from inbox.pages.server import storage, work
from inbox.pages.server.day import last_day
from inbox.pages.server.storage import DiskUsage
from pages.attention import Note
from pages.page import page
from pages.settings import settings_page
from wake.server.health.archive import wal_archive


@require_safe
@page
def server(request: PersonRequest, disk_usage: DiskUsage = shutil.disk_usage) -> HttpResponse:
    """Answers 404 to everyone who does not operate the server."""
    if not is_operator(request.user):
        raise Http404
    now = database_now()
    subjects = [
        work.queue_subject(now),
        work.callback_subject(now),
        work.worker_subject(now),
        work.broker_subject(),
        work.web_subject(),
        storage.disk_subject(disk_usage),
        storage.backup_subject(now, wal_archive()),
        storage.log_subject(now),
        *storage.replica_subjects(),
        storage.version_subject(),
    ]
    notes = [
        Note(problem.text, f"#{subject.id}") for subject in subjects for problem in subject.problems
    ]
    return settings_page(
        request,
        "inbox/pages/server/server.html",
        subjects=subjects,
        notes=notes,
        day=last_day(now),
        now=now,
    )
