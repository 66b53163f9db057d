"""One table names the paths for programs; every other address is a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.fixtures.strict_client import Client
from wake.server.http.machine_paths import MACHINE_PATHS, _row_of, is_machine_path, row_of

PAGES = ("accounts.", "inbox.", "relay.pages.", "django.contrib.admin.")
PROGRAMS = (
    *("inbox.notifications.slack.", "accounts.log.", "accounts.oauth.token_views."),
    *("accounts.oauth.metadata_views.", "accounts.oauth.registration."),
    *("accounts.oauth.device.code_views.", "accounts.scim."),
)


def routes(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, bool]]:
    """Yields each route, and whether its view shows a page. The package of the view decides
    this."""
    for pattern in resolver.url_patterns:
        route = f"{before}{pattern.pattern}".replace("^", "")
        if isinstance(pattern, URLPattern):
            module = f"{pattern.callback.__module__}."
            yield f"/{route}", module.startswith(PAGES) and not module.startswith(PROGRAMS)
        else:
            is_admin = route == "admin/"
            yield from ((each, is_page or is_admin) for each, is_page in routes(pattern, route))


def test_every_machine_endpoint_has_a_row_and_no_page_has_one(
    subtests: pytest.Subtests,
) -> None:
    """If no row of the table matched an endpoint, its errors would be HTML, and a request with a
    key over plain http would be answered."""
    everything = dict(routes(get_resolver()))

    for route, is_page in everything.items():
        with subtests.test(route):
            assert is_machine_path(route.replace("(?:/.*)?$", "/")) is not is_page, (
                f"{route} needs a row in wake/server/http/machine_paths.py, or is a page."
            )
    for row in MACHINE_PATHS:
        assert any(f"{route}/".startswith(row.prefix) for route in everything), row


@pytest.mark.parametrize(
    ("path", "is_machine"),
    [
        *(("/wake", True), ("/wake/v1/deliver", True), ("/wakeful", False)),
        *(("/healthz", True), ("/healthz-of-others", False), ("/@garden/agent", True)),
        *(("/connect/v1/poll/", True), ("/artifacts/x", True), ("/artifact", False)),
        *(("/", False), ("/agents/", False), ("/admin/", False)),
    ],
)
def test_a_prefix_is_whole_parts_of_a_path(path: str, is_machine: bool) -> None:
    assert is_machine_path(path) is is_machine
    assert (row_of(path) is not None) is is_machine


def test_a_long_path_is_looked_up_and_cached_by_its_beginning() -> None:
    _row_of.cache_clear()

    longest = max((row.prefix for row in MACHINE_PATHS), key=len)

    rows = [row_of(longest + letter * 60_000) for letter in "xyz"]

    assert rows == [row_of(longest.removesuffix("/"))] * 3
    assert _row_of.cache_info().currsize == 1
    assert row_of("/agents/" + "x" * 60_000) is None


@pytest.mark.parametrize("path", ["/wake/v1/x", "/@x", "/connect/x", "/artifacts/x/y", "/readyz/x"])
def test_an_unknown_machine_path_is_a_json_404(client: Client, db: None, path: str) -> None:
    """Below the paths of files and of health checks, the error used to be a page for people."""
    answer = client.get(path)

    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")
    assert not answer.cookies
