"""An account of the directory controls the person who signs in with it, and no one else."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.audit import SYSTEM
from accounts.management import operator
from accounts.models import (
    Agent,
    AuditEvent,
    DirectoryAccount,
    Identity,
    Membership,
    OAuthGrant,
    Team,
    User,
)
from accounts.people import deactivation
from database.clock import database_now
from tests.accounts.oauth.conftest import registered  # noqa: F401 - a fixture
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.scim.directory_client import CORE, Directory
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import CONNECT, events, is_signed_in, visit
from tests.fixtures.clients import connected
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.wake.mcp.client import McpClient

pytestmark = pytest.mark.django_db


class PeoplesClient(McpClient):
    path = "/mcp/people"


@pytest.fixture
def directory(provider: MockProvider, scim_settings: Any, team: Team) -> Directory:
    """Returns the directory of the provider with whom people sign in."""
    return Directory()


def nora() -> User:
    return User.objects.get(email="nora@corp.example")


def person_of(pk: str) -> User | None:
    return DirectoryAccount.objects.get(pk=pk).user


def test_a_new_account_is_a_person_who_signs_in_with_the_provider_alone(
    directory: Directory,
) -> None:
    directory.add_user(displayName="Nora North", name={"givenName": "N"})

    assert (nora().display_name, nora().has_usable_password()) == ("Nora North", False)
    client = Client()
    assert visit(client).status_code == 303
    assert is_signed_in(client)
    assert Identity.objects.get().user == nora()
    assert User.objects.count() == 1
    assert events("person", "directory_account")[:3] == [
        "directory_account.added",
        "person.added",
        "directory_account.connected",
    ]
    added = AuditEvent.objects.get(event="person.added")
    assert (added.actor_kind, added.actor_name, added.address) == (
        "provider",
        "Example",
        "127.0.0.1",
    )


def test_who_leaves_the_company_is_out_at_the_next_request(
    directory: Directory,
    registered: OAuthClient,  # noqa: F811
    agent: Agent,
    alice: User,
    team: Team,
) -> None:
    pk = directory.add_user()
    browser = Client()
    visit(browser)
    Membership.objects.create(team=team, user=nora(), role="owner")
    assert browser.get("/").status_code == 200
    client = PeoplesClient(registered.tokens(nora(), agent)["access_token"])
    assert client.ask("tools/list").status_code == 200

    directory.deactivate(pk)

    assert browser.get("/")["Location"] == "/login/?next=/"
    assert client.ask("tools/list").status_code == 401
    assert visit(Client()).status_code == 403
    assert not OAuthGrant.objects.open(database_now()).exists()
    page = Person(alice).get("/audit/").content.decode()
    assert "Example deactivated a member, who can no longer sign in" in page


def test_who_comes_back_has_to_sign_in_again(directory: Directory, agent: Agent) -> None:
    pk = directory.add_user()
    browser = Client()
    visit(browser)
    connected(agent, nora())
    directory.deactivate(pk)

    directory.patch(f"/Users/{pk}", {"op": "Replace", "path": "active", "value": "True"})

    assert not is_signed_in(browser)
    assert not OAuthGrant.objects.open(database_now()).exists()
    assert visit(browser).status_code == 303
    assert is_signed_in(browser)


def test_an_administrators_decision_stays(directory: Directory) -> None:
    pk = directory.add_user()
    deactivation.deactivate(nora(), by=SYSTEM, at=database_now())

    directory.patch(f"/Users/{pk}", {"op": "replace", "path": "displayName", "value": "N"})
    directory.patch(f"/Users/{pk}", {"op": "replace", "path": "active", "value": True})

    assert not nora().is_active


@pytest.mark.parametrize("how", [None, {"active": None}])
def test_an_account_that_says_nothing_of_it_does_not_reactivate(
    how: dict[str, Any] | None, directory: Directory
) -> None:
    """A PUT without `active` used to count as active."""
    pk = directory.add_user()
    directory.deactivate(pk)

    if how is None:
        directory.patch(f"/Users/{pk}", {"op": "remove", "path": "active"})
    else:
        directory.ask("PUT", f"/Users/{pk}", {"schemas": [f"{CORE}:User"], "userName": "n"} | how)

    assert directory.status == 200
    assert DirectoryAccount.objects.get().is_active is None
    assert not nora().is_active


def test_an_inactive_account_creates_no_one(directory: Directory) -> None:
    pk = directory.add_user(active=False)
    assert not User.objects.exists()

    directory.patch(f"/Users/{pk}", {"op": "replace", "path": "active", "value": True})

    assert person_of(pk) == nora()


@pytest.mark.parametrize(
    "attributes",
    [
        {"user_name": "nora@elsewhere.example"},
        {"user_name": "nora", "emails": []},
        {"user_name": "nora", "emails": [{"value": "nora"}]},
        {
            "user_name": "x",
            "emails": [
                {"value": "nora@corp.example", "type": "work"},
                {"value": "x@y.example", "primary": True},
            ],
        },
        {"user_name": "\u217d@corp.example"},
    ],
)
def test_only_an_address_of_the_operators_domains_creates_a_person(
    attributes: dict[str, Any], directory: Directory
) -> None:
    pk = directory.add_user(**attributes)

    assert person_of(pk) is None
    assert not User.objects.exists()


class TestAccountsThatExist:
    """An address connects no one (docs/decisions/0052)."""

    def test_a_person_with_a_password_is_not_taken_over(self, directory: Directory) -> None:
        User.objects.create_user("nora@corp.example", "correct horse battery")

        pk = directory.add_user()
        directory.deactivate(pk)

        assert person_of(pk) is None
        assert nora().is_active
        assert not AuditEvent.objects.filter(event__startswith="person.").exists()

    def test_until_they_connect_their_account(self, directory: Directory, team: Team) -> None:
        mine = User.objects.create_user("own@elsewhere.example", "correct horse battery")
        pk = directory.add_user("other@elsewhere.example", emails=[])
        directory.add_group("staff", pk)
        browser = Person(mine).client

        visit(browser, CONNECT)

        assert person_of(pk) == mine
        assert team.memberships.get(user=mine).role == "reviewer"
        directory.deactivate(pk)
        assert not is_signed_in(browser)

    def test_who_signed_in_before_is_found_by_the_subject(self, directory: Directory) -> None:
        visit(Client())

        pk = directory.add_user("renamed@corp.example")

        assert person_of(pk) == nora()
        assert User.objects.count() == 1

    def test_or_by_another_claim(
        self, directory: Directory, provider: MockProvider, scim_settings: Any
    ) -> None:
        """The subject of Entra ID is not the id that it sends by SCIM."""
        scim_settings.WAKE_SCIM_ID_CLAIM = "oid"
        provider.accounts["n-1"]["oid"] = "0a21"
        visit(Client())

        wrong = directory.add_user("x@corp.example", externalId="n-1")
        pk = directory.add_user(externalId="0a21")

        assert person_of(pk) == nora()
        assert person_of(wrong) != nora()

    def test_a_sign_in_moves_the_account_from_a_person_who_never_signed_in(
        self, directory: Directory, provider: MockProvider
    ) -> None:
        """The address was changed between the two. The person who proves that the account is theirs
        is then the one whom the directory deactivates."""
        pk = directory.add_user("nora.south@corp.example")
        directory.add_group("staff", pk)
        south = person_of(pk)
        assert south
        assert south.memberships.exists()

        visit(Client())

        assert person_of(pk) == nora()
        assert not south.memberships.exists()
        directory.deactivate(pk)
        assert not nora().is_active

    def test_a_new_owner_of_an_address_does_not_get_the_account(
        self, directory: Directory, provider: MockProvider
    ) -> None:
        first = directory.add_user()
        former = nora()
        directory.ask("DELETE", f"/Users/{first}")
        deactivation.reactivate(former, by=SYSTEM, at=database_now())

        second = directory.add_user(externalId="n-2")
        provider.accounts["n-2"] = provider.accounts["n-1"]
        provider.subject = "n-2"
        browser = Client()

        assert person_of(second) is None
        assert visit(browser).status_code == 403
        assert not is_signed_in(browser)
        assert not former.identities.exists()

    def test_until_the_operator_says_that_it_is_the_same_person(
        self, directory: Directory, provider: MockProvider
    ) -> None:
        pk = directory.add_user(externalId="wrong")
        browser = Client()
        assert visit(browser).status_code == 403

        operator.reset_sign_in("nora@corp.example")

        assert visit(browser).status_code == 303
        assert person_of(pk) is None

    def test_a_person_has_one_account(self, directory: Directory) -> None:
        first = directory.add_user()
        second = directory.add_user(
            "n@corp.example", externalId="n-2", emails=[{"value": "nora@corp.example"}]
        )

        assert person_of(first) == nora()
        assert person_of(second) is None
        directory.deactivate(second)
        assert nora().is_active


class TestDeletedAccounts:
    def test_the_person_is_deactivated_and_the_rest_stays(
        self, directory: Directory, team: Team
    ) -> None:
        pk = directory.add_user(displayName="Nora North")
        directory.add_group("staff", pk)

        directory.ask("DELETE", f"/Users/{pk}")

        assert not nora().is_active
        assert nora().display_name == "Nora North"
        assert not team.memberships.exists()
        kept = DirectoryAccount.objects.get()
        assert (kept.user_name, kept.display_name, kept.emails) == ("", "", [])

    def test_the_same_account_brings_the_same_person_back(self, directory: Directory) -> None:
        before = directory.add_user()
        person = nora()
        directory.ask("DELETE", f"/Users/{before}")

        after = directory.add_user("n.north@corp.example")

        assert before != after
        assert person_of(after) == person
        assert nora().is_active
        assert DirectoryAccount.objects.count() == 1

    def test_an_account_without_a_person_leaves_nothing(self, directory: Directory) -> None:
        pk = directory.add_user("x", emails=[])

        directory.ask("DELETE", f"/Users/{pk}")

        assert not DirectoryAccount.objects.exists()


def test_the_last_owner_is_deactivated_too(directory: Directory, team: Team) -> None:
    pk = directory.add_user()
    directory.add_group("admins", pk)

    directory.deactivate(pk)

    assert not nora().is_active
    event = AuditEvent.objects.get(event="person.deactivated")
    assert event.detail == {"teams_without_owner": ["garden"]}


def test_the_directory_changes_neither_name_nor_address(directory: Directory) -> None:
    """With another address, a forgotten password would be mailed to a stranger."""
    pk = directory.add_user()

    directory.patch(
        f"/Users/{pk}",
        {"op": "replace", "value": {"userName": "eve@corp.example", "displayName": "Eve"}},
        {"op": "replace", "path": 'emails[type eq "work"].value', "value": "eve@corp.example"},
    )

    person = person_of(pk)
    assert person
    assert (person.email, person.display_name) == ("nora@corp.example", "nora")


def test_no_account_counts_after_the_directory_is_switched_off(
    directory: Directory, scim_settings: Any
) -> None:
    directory.add_user(active=False)
    scim_settings.WAKE_SCIM_TOKENS = []

    assert visit(Client()).status_code == 303
