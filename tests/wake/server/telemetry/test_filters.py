"""Lines of libraries contain no text that they were given."""

from __future__ import annotations

import logging

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from tests.fixtures.strict_client import Client
from wake.server.telemetry.filters import LibrariesFromInfo

TOKEN = "saffroninthesafe"
ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@csrf_exempt
def fail(request: HttpRequest, **parts: object) -> HttpResponse:
    raise KeyError(TOKEN)


urlpatterns = [path("reset/<str:token>/", fail), path("deliveries/<uuid:pk>/", fail)]


@pytest.mark.parametrize(
    ("asked", "logged"),
    [(f"/reset/{TOKEN}/", "/reset/<str:token>/"), (f"/deliveries/{ID}/", f"/deliveries/{ID}/")],
)
@pytest.mark.django_db
@override_settings(ROOT_URLCONF=__name__)
def test_a_failed_request_is_named_without_free_text(
    caplog: pytest.LogCaptureFixture, asked: str, logged: str
) -> None:
    Client(raise_request_exception=False).get(asked)

    (record,) = [each for each in caplog.records if each.name == "django.request"]
    assert record.getMessage() == f"Internal Server Error: {logged}"


def test_lines_of_libraries_for_developers_are_dropped() -> None:
    def passes(name: str, level: int) -> bool:
        record = logging.getLogger(name).makeRecord(name, level, "", 1, "It", (), None)
        return bool(LibrariesFromInfo().filter(record))

    assert passes("oauth2_provider.models", logging.INFO)
    assert not passes("oauth2_provider.models", logging.DEBUG)
    assert passes("wake.jobs", logging.DEBUG)
    assert passes("celery.worker", logging.DEBUG)


def test_the_server_drops_them() -> None:
    configured = {
        filter for handler in logging.getLogger().handlers for filter in map(type, handler.filters)
    }

    assert LibrariesFromInfo in configured
