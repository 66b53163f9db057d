"""Okta and Entra ID send these requests, in the shapes of their documents."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import DirectoryAccount, DirectoryGroup
from tests.accounts.scim.directory_client import CORE, ENTERPRISE, Directory

pytestmark = pytest.mark.django_db

OF_OKTA = {
    "schemas": [f"{CORE}:User"],
    "userName": "Nora@corp.example",
    "name": {"givenName": "Nora", "familyName": "North"},
    "emails": [{"primary": True, "value": "nora@corp.example", "type": "work"}],
    "displayName": "Nora North",
    "locale": "en-US",
    "externalId": "00ujl29u0le5T6Aj10h7",
    "groups": [],
    "password": "1mz050nq",
    "active": True,
}
OF_ENTRA = {
    "schemas": [f"{CORE}:User", ENTERPRISE],
    "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    "userName": "Nora_7@corp.example",
    "active": True,
    "addresses": [{"type": "work", "locality": "Berlin"}],
    "displayName": "Nora North",
    "emails": [{"type": "work", "value": "nora@corp.example", "primary": True}],
    "meta": {"resourceType": "User"},
    "name": {"formatted": "Nora North", "familyName": "North", "givenName": "Nora"},
    "roles": [],
    ENTERPRISE: {"department": "Gardens", "manager": "9f0e"},
}


def account() -> DirectoryAccount:
    return DirectoryAccount.objects.get()


@pytest.mark.parametrize("sent", [OF_OKTA, OF_ENTRA], ids=["okta", "entra"])
def test_an_account_is_looked_up_created_and_read(sent: Any, directory: Directory) -> None:
    """Both first ask whether the account exists. A missing one is an empty list, and no 404."""
    name = f'userName eq "{sent["userName"].upper()}"'
    before = directory.ask("GET", "/Users", filter=name, startIndex="1", count="100")
    assert (directory.status, before["totalResults"], before["Resources"]) == (200, 0, [])

    new = directory.ask("POST", "/Users", sent)
    assert directory.status == 201
    assert directory.headers["Content-Type"] == "application/scim+json"
    assert directory.headers["Location"] == f"http://testserver/scim/v2/Users/{new['id']}"

    found = directory.ask("GET", "/Users", filter=name)
    read = directory.ask("GET", f"/Users/{new['id']}")

    assert found["totalResults"] == 1
    assert found["Resources"] == [read]
    kept = ("userName", "externalId", "displayName", "active", "emails", "name")
    assert {name: read[name] for name in kept} == {name: sent[name] for name in kept}
    assert "password" not in read
    assert ENTERPRISE not in read


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Replace", "path": "active", "value": "False"},
        {"op": "Replace", "path": "active", "value": False},
        {"op": "replace", "value": {"active": False}},
        {"op": "replace", "value": {"active": "False"}},
        {"op": "Add", "path": "active", "value": "false"},
        {"op": "replace", "path": f"{CORE}:User:active", "value": False},
    ],
)
def test_every_way_to_deactivate(operation: Any, directory: Directory) -> None:
    pk = directory.add_user()

    changed = directory.patch(f"/Users/{pk}", operation)

    assert (directory.status, changed["active"]) == (200, False)
    assert account().is_active is False
    assert account().user.is_active is False  # type: ignore[union-attr]


def test_entra_changes_several_attributes_at_once(directory: Directory) -> None:
    new = directory.ask("POST", "/Users", OF_ENTRA | {"emails": []})

    changed = directory.patch(
        f"/Users/{new['id']}",
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "nora@corp.example"},
        {"op": "Replace", "path": "name.familyName", "value": "Weiß"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Bees"},
        {"op": "Add", "path": 'phoneNumbers[type eq "work"].value', "value": "1"},
        {"op": "Replace", "value": {"name.givenName": "Norá", "displayName": "Norá Weiß"}},
        {"op": "Remove", "path": f"{ENTERPRISE}:manager"},
    )

    assert directory.status == 200, changed
    assert changed["emails"] == [{"type": "work", "value": "nora@corp.example"}]
    assert changed["name"] == {
        "formatted": "Nora North",
        "givenName": "Norá",
        "familyName": "Weiß",
    }
    assert changed["displayName"] == "Norá Weiß"


def test_okta_replaces_the_whole_account(directory: Directory) -> None:
    new = directory.ask("POST", "/Users", OF_OKTA)

    changed = directory.ask(
        "PUT", f"/Users/{new['id']}", OF_OKTA | {"id": new["id"], "active": False, "name": {}}
    )

    assert (directory.status, changed["active"]) == (200, False)
    assert "name" not in changed


@pytest.mark.parametrize(
    "name", ["nora@corp.example", "NORA@corp.example"], ids=["same", "other case"]
)
def test_a_name_is_taken_once(name: str, directory: Directory) -> None:
    directory.add_user()

    refusal = directory.ask("POST", "/Users", {"schemas": [f"{CORE}:User"], "userName": name})

    assert (directory.status, refusal["scimType"]) == (409, "uniqueness")
    assert refusal["detail"] == "Another account has this userName."


def test_an_external_id_is_taken_once(directory: Directory) -> None:
    directory.add_user()

    body = {"schemas": [f"{CORE}:User"], "userName": "eve", "externalId": "n-1"}
    refusal = directory.ask("POST", "/Users", body)

    assert (directory.status, refusal["scimType"]) == (409, "uniqueness")
    assert refusal["detail"] == "Another account has this externalId."


def members(pk: str) -> set[str]:
    group = DirectoryGroup.objects.get(pk=pk)
    return {str(each) for each in group.members.values_list("pk", flat=True)}


def test_the_members_of_a_group_change_in_every_shape(directory: Directory) -> None:
    nora, bo = directory.add_user(), directory.add_user("bo@corp.example", externalId="b-1")
    group = directory.add_group("staff", externalId="g-1")
    path = f"/Groups/{group}"
    found = []

    for operation in (
        {"op": "Add", "path": "members", "value": [{"value": nora}]},
        {"op": "add", "path": "members", "value": [{"value": bo, "display": "bo@corp.example"}]},
        {"op": "remove", "path": f'members[value eq "{nora}"]'},
        {"op": "replace", "path": "members", "value": [{"value": nora}, {"value": bo}]},
        {"op": "Remove", "path": "members", "value": [{"value": bo}]},
        {"op": "add", "value": {"members": [{"value": bo}]}},
        {"op": "remove", "path": "members"},
    ):
        assert directory.patch(path, operation) is None
        assert directory.status == 204
        found.append(members(group))

    assert found == [{nora}, {nora, bo}, {bo}, {nora, bo}, {nora}, {nora, bo}, set()]


def test_a_group_is_renamed_in_both_shapes(directory: Directory) -> None:
    group = directory.add_group("staff")

    directory.patch(
        f"/Groups/{group}", {"op": "replace", "value": {"id": group, "displayName": "crew"}}
    )
    assert directory.status == 204
    directory.patch(
        f"/Groups/{group}", {"op": "Replace", "path": "displayName", "value": "Gardeners"}
    )

    found = directory.ask("GET", "/Groups", filter='displayName eq "gardeners"')
    assert [each["id"] for each in found["Resources"]] == [group]


def test_a_group_is_read_with_and_without_its_members(directory: Directory) -> None:
    nora = directory.add_user()
    group = directory.add_group("staff", nora)

    whole = directory.ask("GET", f"/Groups/{group}")
    short = directory.ask("GET", f"/Groups/{group}", excludedAttributes="members")

    reference = f"http://testserver/scim/v2/Users/{nora}"
    assert whole["members"] == [{"value": nora, "$ref": reference}]
    assert "members" not in short
    assert short["displayName"] == "staff"


def test_every_filter_that_directories_send(directory: Directory) -> None:
    nora = directory.add_user()
    group = directory.add_group("staff", nora, externalId="g-1")
    directory.add_user("bo@corp.example", externalId="b-1")
    directory.add_group("crew")

    for path, text, expected in (
        ("/Users", 'userName eq "Nora@corp.example"', [nora]),
        ("/Users", 'externalId eq "n-1"', [nora]),
        ("/Users", 'externalId eq "N-1"', []),
        ("/Users", f'id eq "{nora}"', [nora]),
        ("/Users", 'id eq "no uuid"', []),
        ("/Users", 'userName eq "x" or externalId eq "n-1"', [nora]),
        ("/Groups", 'displayName eq "Staff"', [group]),
        ("/Groups", 'externalId eq "g-1"', [group]),
        ("/Groups", f'members.value eq "{nora}"', [group]),
        ("/Groups", f'members eq "{nora}"', [group]),
        ("/Groups", f'members[value eq "{nora}"]', [group]),
        ("/Groups", f'id eq "{group}" and members eq "{nora}"', [group]),
        ("/Groups", f'id eq "{uuid4()}" and members eq "{nora}"', []),
    ):
        found = directory.ask("GET", path, filter=text)
        assert directory.status == 200, (text, found)
        assert [each["id"] for each in found["Resources"]] == expected, text


def test_pages(directory: Directory) -> None:
    ids = [directory.add_user(f"p{n}@corp.example", externalId=f"p-{n}") for n in range(5)]

    page = directory.ask("GET", "/Users", startIndex="2", count="2")
    none = directory.ask("GET", "/Users", startIndex="9" * 30, count="2")
    all_of_them = directory.ask("GET", "/Users")

    assert [each["id"] for each in page["Resources"]] == ids[1:3]
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (5, 2, 2)
    assert (none["totalResults"], none["Resources"]) == (5, [])
    assert len(all_of_them["Resources"]) == 5


def test_the_server_says_what_it_can(directory: Directory) -> None:
    config = directory.ask("GET", "/ServiceProviderConfig")
    types = directory.ask("GET", "/ResourceTypes")
    schemas = directory.ask("GET", "/Schemas")

    assert {name for name in config if config[name] == {"supported": True}} == {"patch"}
    assert config["etag"] == {"supported": False}
    assert config["filter"] == {"supported": True, "maxResults": 200}
    assert [each["endpoint"] for each in types["Resources"]] == ["/Users", "/Groups"]
    assert {each["id"] for each in schemas["Resources"]} == {f"{CORE}:User", f"{CORE}:Group"}


def test_entras_flag_changes_nothing(directory: Directory) -> None:
    """Entra ID appends this flag to the address, if the operator asks for standard PATCHes."""
    directory.add_user()

    found = directory.ask("GET", "/Users", aadOptscim062020="", filter='userName eq "x"')

    assert (directory.status, found["totalResults"]) == (200, 0)


def test_json_of_any_name_is_read(directory: Directory) -> None:
    answer = directory.client.post(
        "/scim/v2/Users",
        {"schemas": [f"{CORE}:User"], "userName": "bo"},
        content_type="application/json; charset=utf-8",
    )
    assert answer.status_code == 201

    answer = directory.client.generic(
        "POST", "/scim/v2/Users", "userName=eve", content_type="application/x-www-form-urlencoded"
    )
    assert answer.status_code == 415


def test_a_deleted_account_is_gone(directory: Directory) -> None:
    pk = directory.add_user()

    directory.ask("DELETE", f"/Users/{pk}")
    assert directory.status == 204

    for method, body in (("GET", None), ("DELETE", None), ("PUT", {}), ("PATCH", {})):
        directory.ask(method, f"/Users/{pk}", body)
        assert directory.status in {400, 404}, method
    assert directory.ask("GET", "/Users")["totalResults"] == 0
