"""Groups that the directory sends give teams and roles by the table of the sign-in."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, Identity, Membership, Team, User
from tests.accounts.scim.directory_client import Directory
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import DISCONNECT, events, visit
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def directory(provider: MockProvider, scim_settings: Any, team: Team, mallory: User) -> Directory:
    return Directory()


def roles() -> dict[str, str]:
    nora = Membership.objects.filter(user__email="nora@corp.example")
    return dict(nora.values_list("team__slug", "role"))


def test_they_add_change_and_remove(directory: Directory, alice: User) -> None:
    nora = directory.add_user()
    staff, admins = directory.add_group("staff"), directory.add_group("admins")
    found = []

    for group, op in ((staff, "add"), (admins, "add"), (staff, "remove"), (admins, "remove")):
        operation = {"op": op, "path": "members", "value": [{"value": nora}]}
        directory.patch(f"/Groups/{group}", operation)
        assert directory.status == 204
        found.append(roles())

    assert found == [{"garden": "reviewer"}, {"garden": "owner"}, {"garden": "owner"}, {}]
    assert events("membership") == [
        "membership.added",
        "membership.changed",
        "membership.removed",
    ]
    changed = AuditEvent.objects.filter(event="directory_group.changed").first()
    assert changed
    assert changed.detail == {"added": 1, "removed": 0}


def test_a_group_is_named_by_its_name_or_by_its_id(directory: Directory) -> None:
    nora = directory.add_user()

    directory.add_group("Guests of the house", nora, externalId="6f1e")

    assert roles() == {"other": "reader"}


def test_a_group_that_is_named_as_anothers_id_is_not_that_group(directory: Directory) -> None:
    """Otherwise, people who may name groups in the directory could give themselves any role."""
    nora = directory.add_user()
    directory.add_group("Guests of the house", externalId="6f1e")

    directory.add_group("6f1e", nora, externalId="evil")

    assert roles() == {}


def test_a_renamed_group_gives_what_its_new_name_gives(directory: Directory, alice: User) -> None:
    group = directory.add_group("crew", directory.add_user())
    assert roles() == {}

    directory.patch(f"/Groups/{group}", {"op": "replace", "path": "displayName", "value": "staff"})
    assert roles() == {"garden": "reviewer"}
    directory.patch(f"/Groups/{group}", {"op": "replace", "value": {"displayName": "crew"}})
    assert roles() == {}


def test_a_deleted_group_gives_nothing(directory: Directory, alice: User) -> None:
    group = directory.add_group("staff", directory.add_user())

    directory.ask("DELETE", f"/Groups/{group}")

    assert directory.status == 204
    assert roles() == {}


def test_a_membership_that_an_owner_gave_stays(directory: Directory, team: Team) -> None:
    nora = directory.add_user()
    user = User.objects.get(email="nora@corp.example")
    Membership.objects.create(team=team, user=user, role="reader")

    group = directory.add_group("admins", nora)
    directory.ask("DELETE", f"/Groups/{group}")

    assert roles() == {"garden": "reader"}


def test_the_last_owner_stays(directory: Directory) -> None:
    group = directory.add_group("admins", directory.add_user())

    directory.ask("DELETE", f"/Groups/{group}")

    assert roles() == {"garden": "owner"}


def test_an_account_without_a_person_waits_with_its_groups(directory: Directory) -> None:
    pk = directory.add_user("n", emails=[])
    directory.add_group("staff", pk)
    assert not Membership.objects.filter(from_groups=True).exists()

    visit(Client())

    assert roles() == {"garden": "reviewer"}


class TestBesideTheGroupsOfTheSignIn:
    def test_a_group_that_is_not_sent_counts_as_at_the_last_sign_in(
        self, directory: Directory, provider: MockProvider, alice: User
    ) -> None:
        provider.accounts["n-1"]["groups"] = ["admins", "6f1e"]
        nora = directory.add_user()
        visit(Client())
        assert roles() == {"garden": "owner", "other": "reader"}

        directory.add_group("admins")
        directory.add_group("staff", nora)

        assert roles() == {"garden": "reviewer", "other": "reader"}

    def test_the_next_sign_in_brings_nothing_back(
        self, directory: Directory, provider: MockProvider, alice: User
    ) -> None:
        """The token may be older than what the directory said."""
        nora = directory.add_user()
        group = directory.add_group("admins", nora)
        provider.accounts["n-1"]["groups"] = ["admins"]
        visit(Client())

        directory.patch(f"/Groups/{group}", {"op": "remove", "path": f'members[value eq "{nora}"]'})
        visit(Client())

        assert roles() == {}

    def test_roles_of_a_sign_in_before_the_update_stay(
        self, directory: Directory, provider: MockProvider
    ) -> None:
        """Earlier versions did not store the groups of the sign-in."""
        provider.accounts["n-1"]["groups"] = ["6f1e"]
        visit(Client())
        Identity.objects.update(groups=None)

        directory.add_group("staff", directory.add_user())

        assert roles() == {"garden": "reviewer", "other": "reader"}

    def test_disconnecting_keeps_what_the_directory_gave(
        self, directory: Directory, alice: User
    ) -> None:
        directory.add_group("staff", directory.add_user())
        visit(Client())
        user = User.objects.get(email="nora@corp.example")
        user.set_password("correct horse battery")
        user.save(update_fields=["password"])

        Person(user).client.post(DISCONNECT)

        assert not Identity.objects.exists()
        assert roles() == {"garden": "reviewer"}
