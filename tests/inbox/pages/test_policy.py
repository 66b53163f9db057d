"""The content security policy says exactly what a page may load and run."""

from __future__ import annotations

from tests.inbox.person import Person

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "report-uri /csp-reports",
    "report-to csp",
}
TRUSTED_TYPES = {"require-trusted-types-for 'script'", "trusted-types default"}


def test_pages_load_only_our_files_and_write_no_markup(alices: Person) -> None:
    for path in ("/", "/help/keyboard-shortcuts", "/nothing/"):
        assert _policy(alices, path) == POLICY | TRUSTED_TYPES


def test_the_admins_policy_differs_only_in_trusted_types(alices: Person) -> None:
    alices.user.is_staff = True
    alices.user.save(update_fields=["is_staff"])

    assert _policy(alices, "/admin/") == POLICY


def _policy(person: Person, path: str) -> set[str]:
    return set(person.get(path)["Content-Security-Policy"].split("; "))
