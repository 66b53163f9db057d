"""Each settings page works without JavaScript and belongs to one person."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, User
from inbox.models import Preferences
from tests.accounts.sign_in.test_second_factor import Authenticator
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.types import Prefer, SignedIn

NEW_PASSWORD = "an even longer sentence"
PAGES = [
    *(
        "profile",
        "theme",
        "keyboard-shortcuts",
        "digest",
        "quiet-hours",
        "saved-replies",
        "members",
        "allowlist",
    ),
]
DIGEST = {"digest": "daily", "digest_at": "09:00", "digest_hours": "4"}


def change_password(client: Client, old: str = PASSWORD, new: str = NEW_PASSWORD) -> Any:
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post("/settings/password/", form, page="/settings/profile/")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("role", ["alice", "bob", "rita", "mallory"])
def test_every_signed_in_person_can_open_every_settings_page(
    name: str, role: str, request: pytest.FixtureRequest, signed_in: SignedIn
) -> None:
    page = signed_in(request.getfixturevalue(role)).get(f"/settings/{name}/")

    assert page.status_code == 200
    assert page["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"


@pytest.mark.parametrize("name", PAGES)
def test_settings_require_a_sign_in(name: str, client: Client, team: object) -> None:
    page = client.get(f"/settings/{name}/")

    assert (page.status_code, page["Location"]) == (302, f"/login/?next=/settings/{name}/")


def test_a_person_without_a_team_has_settings_too(signed_in: SignedIn, db: None) -> None:
    client = signed_in(User.objects.create_user("lone@example.com", PASSWORD))

    assert {client.get(f"/settings/{name}/").status_code for name in PAGES} == {200}


def test_settings_begin_with_an_overview(
    alices: Person, bob: User, allowed_host: str, prefer: Prefer
) -> None:
    prefer(alices.user, digest="weekly", digest_error="Connection refused")

    page = alices.get("/settings/")

    words = text_of(page)
    assert "Needs attention Two-step sign-in is off" in words
    assert "Times are in UTC. Choose your time zone." in words
    assert "The last digest couldn't be sent: Connection refused" in words
    assert "Garden: 2 members sign in without two-step sign-in." in words
    assert "Digest On some days of the week Change A summary by e-mail" in words
    assert "Members 2 people Change" in words
    assert "Callback hosts 1 Change" in words
    for name in PAGES:
        assert f'href="/settings/{name}/"' in page.content.decode(), name


def test_the_overview_says_if_nothing_needs_attention(alices: Person) -> None:
    Authenticator(alices.user)
    User.objects.update(time_zone="Europe/Berlin")
    alices.client.force_login(User.objects.get())

    assert "Nothing needs your attention." in text_of(alices.get("/settings/"))


def test_a_new_name_and_time_zone_are_saved_and_audited(
    bob: User, prefer: Prefer, signed_in: SignedIn
) -> None:
    prefer(bob)
    client = signed_in(bob)

    page = client.post(
        "/settings/profile/",
        {"display_name": "Bob the second", "time_zone": "Asia/Kathmandu"},
        follow=True,
    )

    assert page.redirect_chain == [("/settings/profile/", 303)]
    assert "Saved." in page.content.decode()
    assert "Times are in Asia/Kathmandu." in text_of(page)
    bob.refresh_from_db()
    assert bob.display_name == "Bob the second"
    event = AuditEvent.objects.get(event="person.changed")
    assert event.detail == {"display_name": "Bob the second", "time_zone": "Asia/Kathmandu"}
    due = Preferences.objects.get(user=bob).next_digest_at
    assert due is not None
    assert due.strftime("%H:%M") == "03:15"  # 09:00 there


def test_saving_unchanged_values_records_no_event(bob: User, signed_in: SignedIn) -> None:
    signed_in(bob).post("/settings/profile/", {"display_name": "bob", "time_zone": "UTC"})

    assert not AuditEvent.objects.filter(event="person.changed").exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"time_zone": "Mars/Olympus"}, "Choose a time zone from the list"),
        ({"display_name": "  "}, "Enter your name."),
        ({"display_name": "Bob\u2028Boss"}, "Control characters are not allowed here."),
        # The time to normalise a text grows with the square of its length, here to minutes.
        ({"display_name": "Bob" + "\u0301\u0316" * 200_000}, "at most 80 characters"),
    ],
)
def test_an_invalid_profile_is_not_saved_and_stays_in_the_form(
    fields: dict[str, str], words: str, bob: User, signed_in: SignedIn
) -> None:
    given = {"display_name": "Robert", "time_zone": "UTC", **fields}

    page = signed_in(bob).post("/settings/profile/", given)

    assert page.status_code == 422
    assert words in page.content.decode()
    assert 'role="alert"' in page.content.decode()
    bob.refresh_from_db()
    assert (bob.display_name, bob.time_zone) == ("bob", "UTC")


def test_a_time_zone_that_only_the_admin_knows_is_kept(bob: User, signed_in: SignedIn) -> None:
    bob.time_zone = "Etc/GMT-3"
    bob.save(update_fields=["time_zone"])

    page = signed_in(bob).get("/settings/profile/")

    assert '<option value="Etc/GMT-3" selected>' in page.content.decode()


def test_a_new_password_signs_out_other_sessions_and_is_audited(
    bob: User, signed_in: SignedIn
) -> None:
    elsewhere = Client()
    elsewhere.force_login(bob)
    here = signed_in(bob)

    page = change_password(here)

    assert page.status_code == 303
    assert here.get("/settings/").status_code == 200
    assert elsewhere.get("/settings/").status_code == 302
    bob.refresh_from_db()
    assert bob.check_password(NEW_PASSWORD)
    event = AuditEvent.objects.get(event="person.password_set")
    assert (event.actor_name, event.detail) == ("bob", {})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("wrong", NEW_PASSWORD, "Wrong password."),
        (PASSWORD, "short", "too short"),
        (PASSWORD, "password1234", "too common"),
    ],
)
def test_an_invalid_password_changes_nothing(
    old: str, new: str, words: str, bob: User, signed_in: SignedIn
) -> None:
    page = change_password(signed_in(bob), old, new)

    assert page.status_code == 422
    assert words in page.content.decode()
    assert f'value="{new}"' not in page.content.decode()
    bob.refresh_from_db()
    assert bob.check_password(PASSWORD)


@pytest.mark.usefixtures("_no_attempt_comes_back")
def test_password_guesses_on_an_open_page_are_limited(bob: User, signed_in: SignedIn) -> None:
    client = signed_in(bob)

    answers = [change_password(client, "wrong").status_code for _ in range(10)]
    page = change_password(client)

    assert set(answers) == {422}
    assert page.status_code == 429
    assert int(page["Retry-After"]) > 0
    assert "Too many attempts" in page.content.decode()


@pytest.mark.parametrize("theme", ["light", "dark", "system"])
def test_the_theme_is_on_every_page(theme: str, bob: User, signed_in: SignedIn) -> None:
    client = signed_in(bob)

    client.post("/settings/theme/", {"theme": theme})

    assert f'data-theme="{theme}"' in client.get("/").content.decode()


def test_the_density_is_on_every_page_and_a_form_without_it_keeps_it(
    bob: User, signed_in: SignedIn
) -> None:
    client = signed_in(bob)
    assert "data-density" not in client.get("/").content.decode()

    client.post("/settings/theme/", {"theme": "light", "density": "compact"})
    client.post("/settings/theme/", {"theme": "dark"})

    page = client.get("/").content.decode()
    assert 'data-density="compact"' in page
    assert 'data-theme="dark"' in page


def test_the_theme_is_read_together_with_the_person(
    bob: User, prefer: Prefer, signed_in: SignedIn
) -> None:
    client = signed_in(bob)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get("/")
        return len(captured)

    without = queries()
    prefer(bob, theme="dark")

    assert queries() == without


def test_an_unknown_theme_is_refused(bob: User, signed_in: SignedIn) -> None:
    page = signed_in(bob).post("/settings/theme/", {"theme": '"><script>'})

    assert page.status_code == 422
    assert Preferences.objects.count() == 0


@pytest.mark.parametrize("choice", ["off", "focused", "on"])
def test_single_keys_can_be_switched_off(choice: str, bob: User, signed_in: SignedIn) -> None:
    client = signed_in(bob)

    client.post("/settings/keyboard-shortcuts/", {"keyboard": choice})

    page = client.get("/settings/keyboard-shortcuts/").content.decode()
    assert f'data-keyboard="{choice}"' in page
    assert f'value="{choice}" id="id_keyboard_' in page


def test_the_digest_comes_at_the_hours_that_were_chosen(bob: User, signed_in: SignedIn) -> None:
    client = signed_in(bob)
    form = {
        **DIGEST,
        "digest": "weekly",
        "digest_at": "07:30",
        "digest_days": ["4", "0"],
        "wants_reminders": "on",
    }

    assert client.post("/settings/digest/", form).status_code == 303

    row = Preferences.objects.get(user=bob)
    assert (row.digest, row.digest_at, row.digest_days) == ("weekly", time(7, 30), "04")
    assert row.wants_reminders
    assert row.next_digest_at is not None
    assert row.next_digest_at.weekday() in {0, 4}
    page = client.get("/settings/digest/").content.decode()
    assert 'value="07:30"' in page
    assert page.count(" checked") == 4


@pytest.mark.parametrize(
    ("path", "form", "words"),
    [
        ("digest", {**DIGEST, "digest": "weekly"}, "Choose at least one day."),
        ("digest", {**DIGEST, "digest": "always"}, "Select a valid choice"),
        ("digest", {**DIGEST, "digest_at": "soon"}, "Enter a time such as 09:00."),
        ("digest", {**DIGEST, "digest_hours": "0"}, "Select a valid choice"),
        ("digest", {**DIGEST, "digest_days": ["9"]}, "Select a valid choice"),
        ("quiet-hours", {"quiet_from": "22:00"}, "Enter both times"),
        ("quiet-hours", {"quiet_until": "07:00"}, "Enter both times"),
        (
            "quiet-hours",
            {"quiet_from": "22:00", "quiet_until": "07:00"},
            "Choose at least one day.",
        ),
        (
            "quiet-hours",
            {"quiet_from": "00:00", "quiet_until": "00:00", "quiet_days": list("0123456")},
            "These hours never end",
        ),
    ],
)
def test_invalid_hours_are_not_saved(
    path: str, form: dict[str, Any], words: str, bob: User, signed_in: SignedIn
) -> None:
    page = signed_in(bob).post(f"/settings/{path}/", form)

    assert page.status_code == 422
    assert words in page.content.decode()
    assert Preferences.objects.count() == 0


def test_quiet_hours_are_saved_and_removed(bob: User, signed_in: SignedIn) -> None:
    client = signed_in(bob)
    night = {"quiet_from": "22:00", "quiet_until": "07:00", "quiet_days": list("01234")}

    client.post("/settings/quiet-hours/", night)
    row = Preferences.objects.get(user=bob)
    assert (row.quiet_from, row.quiet_until, row.quiet_days) == (time(22), time(7), "01234")

    client.post("/settings/quiet-hours/", {"quiet_from": "", "quiet_until": ""})
    row.refresh_from_db()
    assert (row.quiet_from, row.quiet_until) == (None, None)


def test_one_setting_leaves_the_others_as_they_were(
    bob: User, prefer: Prefer, signed_in: SignedIn
) -> None:
    prefer(bob, digest="weekly", digest_days="2", theme="dark")

    signed_in(bob).post("/settings/keyboard-shortcuts/", {"keyboard": "off"})

    row = Preferences.objects.get(user=bob)
    assert (row.digest, row.digest_days, row.theme, row.keyboard) == ("weekly", "2", "dark", "off")


def test_the_page_shows_the_error_of_the_last_digest(
    bob: User, prefer: Prefer, signed_in: SignedIn
) -> None:
    prefer(bob, digest_error="[Errno 111] Connection refused")

    page = signed_in(bob).get("/settings/digest/")

    assert (
        "The last digest couldn't be sent: [Errno 111] Connection refused" in page.content.decode()
    )


def test_where_the_server_has_no_mail_the_page_says_so(
    bob: User, signed_in: SignedIn, settings: Any
) -> None:
    settings.WAKE_SENDS_MAIL = False

    assert "can't send e-mail yet" in signed_in(bob).get("/settings/digest/").content.decode()


def test_members_are_named_with_their_roles_to_their_own_team_only(
    alice: User, bob: User, rita: User, mallory: User, signed_in: SignedIn
) -> None:
    page = signed_in(rita).get("/settings/members/").content.decode()

    for words in ("alice", "Owner", "bob", "Reviewer", "rita", "Garden"):
        assert words in page
    assert "mallory" not in page
    assert "alice@example.com" not in page


@pytest.mark.parametrize(
    "path",
    ["/settings/password/", "/settings/saved-replies/2c1f0b7e-8d5e-4f58-9d51-0a6f2a3c9d11/remove"],
)
def test_changes_require_a_post(path: str, bob: User, signed_in: SignedIn) -> None:
    assert signed_in(bob).get(path).status_code == 405


@pytest.mark.parametrize("name", ["profile", "theme", "digest", "saved-replies"])
def test_a_form_of_another_site_is_refused(name: str, bob: User) -> None:
    client = Client(sends_tokens=False)
    client.force_login(bob)

    assert client.post(f"/settings/{name}/", {"theme": "dark"}).status_code == 403
