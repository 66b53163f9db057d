"""People sign in with an account at a provider, whether they also have a password or not."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Identity, Membership, SecondFactor, Team, User
from accounts.sign_in.browsers import session_names
from accounts.sign_in.passwords import resets as password_resets
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import SECURITY, age, events, is_signed_in, visit
from tests.accounts.sign_in.test_second_factor_pages import code_of
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

pytestmark = pytest.mark.django_db


def test_a_verified_address_of_the_domain_makes_a_person(
    provider: MockProvider, client: Client
) -> None:
    page = text_of(client.get("/login/"))
    assert "Sign in with Example" in page

    answer = visit(client, next="/settings/security/", time_zone="Europe/Berlin")

    assert (answer.status_code, answer["Location"]) == (303, "/settings/security/")
    nora = User.objects.get()
    assert (nora.email, nora.display_name) == ("nora@corp.example", "Nora North")
    assert nora.time_zone == "Europe/Berlin"
    assert not nora.has_usable_password()
    assert nora.identities.get().subject == "n-1"
    assert (
        events()
        == [
            "person.added",
            "identity.connected",
            "person.signed_in",
            "person.changed",
        ][: len(events())]
    )


@pytest.mark.parametrize(
    ("account", "words"),
    [
        ({"email_verified": False}, "Example hasn't confirmed your e-mail address"),
        ({"email_verified": "false"}, "Example hasn't confirmed your e-mail address"),
        ({"email_verified": None}, "Example hasn't confirmed your e-mail address"),
        ({"email": "nora@corp.example.evil.example"}, "No one in Wake is connected"),
        ({"email": "nora@evil.example@corp.example"}, "No one in Wake is connected"),
        ({"email": "corp.example"}, "No one in Wake is connected"),
        ({"email": 7}, "No one in Wake is connected"),
        ({"email": "n\x00@corp.example"}, "No one in Wake is connected"),
    ],
)
def test_another_address_makes_no_one(
    account: dict[str, Any], words: str, provider: MockProvider, client: Client
) -> None:
    provider.accounts["n-1"] |= account

    answer = visit(client)

    assert answer.status_code == 403
    assert words in text_of(answer)
    assert not User.objects.exists()


@pytest.mark.parametrize("verified", [True, "true", 1])
def test_other_spellings_of_verified(verified: Any, provider: MockProvider, client: Client) -> None:
    provider.accounts["n-1"] = {"email": "nora@corp.example", "xms_edov": verified}

    assert visit(client).status_code == 303
    assert User.objects.get().display_name == "nora"


@pytest.mark.parametrize("name", ["", "No\u2028ra", "\u3164", 7])
def test_an_odd_name_is_replaced_by_the_address(
    name: Any, provider: MockProvider, client: Client
) -> None:
    provider.accounts["n-1"]["name"] = name

    visit(client)

    assert User.objects.get().display_name == "nora"


def test_an_account_with_a_password_is_connected_by_its_owner_alone(
    provider: MockProvider, client: Client
) -> None:
    User.objects.create_user("nora@corp.example", PASSWORD)

    answer = visit(client)

    assert answer.status_code == 403
    assert "Sign in with its password, then connect Example" in text_of(answer)
    assert not Identity.objects.exists()
    assert not is_signed_in(client)


def test_an_account_without_any_way_in_is_connected(provider: MockProvider, client: Client) -> None:
    nora = User.objects.create_user("nora@corp.example")

    assert visit(client).status_code == 303
    assert nora.identities.exists()


def test_another_subject_with_the_same_address_gets_nothing(
    provider: MockProvider, client: Client
) -> None:
    """The company gave the address of a person who left to a new person."""
    visit(client)
    provider.accounts["n-2"] = dict(provider.accounts["n-1"])
    provider.subject = "n-2"
    newcomer = Client()

    answer = visit(newcomer)

    assert answer.status_code == 403
    assert "isn't connected to this account of Example" in text_of(answer)
    assert not is_signed_in(newcomer)
    assert Identity.objects.count() == User.objects.count() == 1


def test_the_same_subject_with_another_address_is_the_same_person(
    provider: MockProvider, client: Client
) -> None:
    visit(client)
    provider.accounts["n-1"] |= {"email": "married@elsewhere.example"}
    other = Client()

    assert visit(other).status_code == 303
    assert User.objects.get().email == "nora@corp.example"
    assert "married@elsewhere.example" in text_of(other.get(SECURITY))


def test_a_deactivated_person_is_told_so(provider: MockProvider, client: Client) -> None:
    visit(client)
    User.objects.update(is_active=False)
    other = Client()

    answer = visit(other)

    assert answer.status_code == 403
    assert "deactivated" in text_of(answer)
    assert not is_signed_in(other)


def test_cancelling_there_is_a_calm_page(provider: MockProvider, client: Client) -> None:
    provider.deactivated = {"n-1"}

    answer = visit(client)

    assert answer.status_code == 403
    assert "Example didn't sign you in" in text_of(answer)


@pytest.fixture
def secret(provider: MockProvider, client: Client, team: Team) -> str:
    """Nora's team requires a second step, and she has set up an app for it."""
    visit(client)
    nora = User.objects.get(email="nora@corp.example")
    Membership.objects.create(team=team, user=nora, role="reviewer")
    Team.objects.update(second_factor_required_at=timezone.now())
    assert client.get("/")["Location"] == "/settings/security/codes/"
    page = client.get("/settings/security/codes/").content.decode()
    secret = page.partition('class="secret">')[2].partition("<")[0].replace(" ", "")
    client.post("/settings/security/codes/", {"code": code_of(secret, steps=-1)})
    assert SecondFactor.objects.exists()
    client.post("/logout/")
    return secret


def test_a_code_is_asked_for(secret: str, provider: MockProvider, client: Client) -> None:
    answer = visit(client, next=SECURITY)
    assert answer["Location"] == "/login/code/"
    assert not is_signed_in(client)

    answer = client.post("/login/code/", {"code": code_of(secret)})

    assert answer["Location"] == SECURITY
    assert session_names.PROVIDER in client.session


@pytest.mark.parametrize("how", ["amr", "setting"])
def test_the_providers_own_counts(
    how: str, provider: MockProvider, client: Client, team: Team, settings: Any
) -> None:
    if how == "amr":
        provider.accounts["n-1"]["amr"] = ["pwd", "mfa"]
    else:
        settings.WAKE_OIDC_SECOND_FACTOR = True
    Team.objects.update(second_factor_required_at=timezone.now())
    nora = User.objects.create_user("nora@corp.example")
    Membership.objects.create(team=team, user=nora, role="reviewer")

    visit(client)

    assert client.get("/").status_code == 200


def test_with_the_providers_no_code_is_asked_for(
    secret: str, provider: MockProvider, client: Client
) -> None:
    provider.accounts["n-1"]["amr"] = ["mfa"]

    assert visit(client)["Location"] == "/"
    assert client.get("/").status_code == 200


def test_a_session_ends_after_the_hours_of_the_setting(
    provider: MockProvider, client: Client, settings: Any
) -> None:
    settings.WAKE_OIDC_SESSION_HOURS = 8
    visit(client)
    assert "it is 8 hours" in text_of(client.get(SECURITY))

    age(client, session_names.PROVIDER, hours=7.9)
    assert is_signed_in(client)
    age(client, session_names.PROVIDER, hours=8.1)

    assert not is_signed_in(client)


def test_a_person_who_left_is_not_let_in_again(provider: MockProvider, client: Client) -> None:
    visit(client)
    provider.deactivated = {"n-1"}
    age(client, session_names.PROVIDER, hours=13)

    assert client.get("/")["Location"] == "/login/?next=/"
    assert visit(client).status_code == 403


def test_asking_again_prolongs_it(provider: MockProvider, client: Client) -> None:
    visit(client)
    age(client, session_names.PROVIDER, hours=11)

    visit(client, "/sudo/provider")

    age_in_seconds = timezone.now().timestamp() - client.session[session_names.PROVIDER]
    assert age_in_seconds < 60


def test_other_browsers_that_ended_are_not_listed(provider: MockProvider, client: Client) -> None:
    visit(client)
    other = Client(headers={"User-Agent": "Firefox/140 Windows"})
    visit(other)
    assert "Firefox on Windows" in text_of(client.get(SECURITY))

    age(other, session_names.PROVIDER, hours=13)

    assert "Firefox on Windows" not in text_of(client.get(SECURITY))


def test_a_session_with_a_password_lasts_as_before(provider: MockProvider, alices: Person) -> None:
    age(alices.client, session_names.SIGNED_IN, days=20)

    assert is_signed_in(alices.client)


def test_a_mail_gives_no_password_to_a_person_of_the_provider(
    provider: MockProvider, client: Client, mailoutbox: list[Any]
) -> None:
    visit(client)
    password_resets.request_reset("nora@corp.example", address="", at=timezone.now())

    assert password_resets.send_due() == 0
    assert mailoutbox == []


def test_sign_ins_are_limited_by_network(provider: MockProvider, client: Client) -> None:
    *allowed, refused = [client.post("/login/provider/") for _ in range(121)]

    assert [answer.status_code for answer in allowed] == [200] * 120
    assert refused.status_code == 429
    minutes = math.ceil(int(refused["Retry-After"]) / 60)
    wait = "a minute" if minutes == 1 else f"{minutes} minutes"
    assert f"Too many sign-ins from your network Try again in {wait}." in text_of(refused)
