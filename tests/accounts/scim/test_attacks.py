"""The directory's requests do nothing that the operator did not allow, and no text breaks them."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import ApiKey, DirectoryAccount, DirectoryGroup, Membership, Team, User
from accounts.scim.mapping import MAX_MEMBERS
from tests.accounts.scim.directory_client import CORE, ERROR, TOKEN, Directory
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from wake.server.http.machine_errors import machine_error

pytestmark = pytest.mark.django_db

PATHS = ["", "/", "/Users", "/Users/0", "/ServiceProviderConfig", "/x"]


class TestTheToken:
    @pytest.mark.parametrize("path", PATHS)
    def test_without_one_in_the_settings_there_is_no_scim(
        self, path: str, directory: Directory, scim_settings: Any
    ) -> None:
        scim_settings.WAKE_SCIM_TOKENS = []

        found = directory.ask("GET", path)

        assert directory.status == 404
        assert found == json.loads(directory.client.get("/scim/other").content)

    @pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], f"{TOKEN}x", "é", TOKEN.upper()])
    @pytest.mark.parametrize("path", ["", "/Users", "/ServiceProviderConfig"])
    def test_another_one_is_refused(self, path: str, token: str, directory: Directory) -> None:
        found = Directory(token)
        refusal = found.ask("GET", path)

        assert found.status == 401
        assert found.headers["WWW-Authenticate"] == 'Bearer realm="SCIM"'
        assert refusal["schemas"] == [ERROR]

    def test_it_counts_only_in_its_header(self, directory: Directory, alice: User) -> None:
        browser = Person(alice).client

        for headers in (
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": TOKEN},
            {"Cookie": f"token={TOKEN}"},
        ):
            assert browser.get("/scim/v2/Users", headers=headers).status_code == 401
        assert browser.get("/scim/v2/Users", {"access_token": TOKEN}).status_code == 401

    def test_an_agents_key_is_none(self, directory: Directory, key: ApiKey) -> None:
        agent = Directory(key.text)  # type: ignore[attr-defined]
        agent.ask("GET", "/Users")

        assert agent.status == 401

    def test_two_are_valid_while_one_replaces_the_other(
        self, directory: Directory, scim_settings: Any
    ) -> None:
        scim_settings.WAKE_SCIM_TOKENS = ["another-token-0123456789-0123456789", TOKEN]
        directory.ask("GET", "/Users")

        assert directory.status == 200

    def test_wrong_ones_are_limited(self, directory: Directory) -> None:
        thief = Directory("guess")
        for _ in range(61):
            refusal = thief.ask("GET", "/Users")

        assert (thief.status, refusal["schemas"]) == (429, [ERROR])
        assert int(thief.headers["Retry-After"]) > 0


def test_all_requests_of_a_network_are_limited(directory: Directory, scim_settings: Any) -> None:
    scim_settings.WAKE_READS_PER_MINUTE = 20
    statuses = set()
    for _ in range(25):
        directory.ask("GET", "/ServiceProviderConfig")
        statuses.add(directory.status)

    assert statuses == {200, 429}


@pytest.mark.parametrize("status", [404, 413, 408, 500, 503])
def test_errors_outside_of_the_view_have_the_same_shape(status: int) -> None:
    codes = {404: "not_found", 413: "body_too_large", 408: "body_too_slow", 500: "server_error"}
    answer = machine_error("/scim/v2/Users", status, codes.get(status, "unavailable"))

    assert answer["Content-Type"] == "application/scim+json"
    body = json.loads(answer.content)
    assert (body["schemas"], body["status"]) == ([ERROR], str(status))
    assert body["detail"].endswith(".")


RIGHTS: dict[str, Any] = {
    "is_superuser": True,
    "is_staff": True,
    "isSuperuser": True,
    "user": 1,
    "password": "correct horse battery",
    "session_epoch": 7,
    "roles": [{"value": "owner", "primary": True}],
    "entitlements": [{"value": "superuser"}],
    "groups": [{"value": "admins"}],
    "urn:ietf:params:scim:schemas:extension:wake:2.0:User": {"is_superuser": True},
}


def test_no_attribute_gives_a_right(directory: Directory, team: Team) -> None:
    pk = directory.add_user(**RIGHTS)
    directory.patch(f"/Users/{pk}", {"op": "add", "value": RIGHTS})
    for name, value in RIGHTS.items():
        directory.patch(f"/Users/{pk}", {"op": "replace", "path": name, "value": value})

    user = User.objects.get()
    assert [user.is_superuser, user.is_staff, user.has_usable_password()] == [False] * 3
    assert user.session_epoch == 0
    assert not user.user_permissions.exists()
    assert not Membership.objects.exists()


@pytest.mark.parametrize("attribute", ["id", "meta"])
def test_an_account_is_not_turned_into_another(attribute: str, directory: Directory) -> None:
    nora, bo = directory.add_user(), directory.add_user("bo@corp.example", externalId="b-1")
    value: Any = bo if attribute == "id" else {"resourceType": "Group", "created": "1999"}

    directory.patch(f"/Users/{nora}", {"op": "replace", "path": attribute, "value": value})
    directory.ask(
        "PUT",
        f"/Users/{nora}",
        {"schemas": [f"{CORE}:User"], "userName": "x", attribute: value},
    )

    before = DirectoryAccount.objects.get(pk=bo)
    assert before.user_name == "bo@corp.example"
    assert DirectoryAccount.objects.count() == 2


def test_an_account_is_no_group_and_a_group_no_account(directory: Directory) -> None:
    nora = directory.add_user()
    group = directory.add_group("staff", nora)

    for path in (f"/Groups/{nora}", f"/Users/{group}"):
        for method in ("GET", "DELETE"):
            directory.ask(method, path)
            assert directory.status == 404
    assert directory.ask("GET", f"/Users/{uuid4()}")["detail"] == "There is no User with this id."


def test_people_outside_of_the_directory_cannot_be_reached(
    directory: Directory, alice: User, mallory: User
) -> None:
    found = directory.ask("GET", "/Users")
    assert found["totalResults"] == 0

    for pk in (str(alice.pk), str(mallory.pk), alice.email, "../admin", "%00", "x" * 5_000):
        directory.ask("DELETE", f"/Users/{pk}")
        assert directory.status == 404
    assert User.objects.filter(is_active=True).count() == 2


@pytest.mark.parametrize(
    "text",
    [
        'userName eq "x" or 1 eq 1',
        'userName eq "x\' OR 1=1 --"',
        'userName eq "x\\" or userName pr or \\""',
        'user__password eq "x"',
        'user.password eq "x"',
        'password eq "x"',
        "userName pr",
        'not (userName eq "x")',
        'userName ne "x"',
        'userName co ""',
        'userName sw "n"',
        "userName eq true",
        'active eq "true"',
        'emails.value eq "nora@corp.example"',
        'members[value eq "x"]',
        "userName",
        "(" * 3_000,
        " or ".join(['userName eq "a"'] * 500),
        'userName eq "\\u0000"',
        'userName eq "\0"',
        '"',
        "",
    ],
)
def test_a_filter_finds_only_what_it_names(text: str, directory: Directory) -> None:
    directory.add_user()

    found = directory.ask("GET", "/Users", filter=text)

    assert directory.status in {200, 400}
    if directory.status == 400:
        assert found["scimType"] in {"invalidFilter", "invalidValue"}
    elif text:
        assert found["totalResults"] == 0


NAUGHTY = ["\0", "a\0b", "\n", "\x1b[31m", "x" * 256, "x" * 100_000, "", " ", 7, True, [], {}, None]


@pytest.mark.parametrize("value", NAUGHTY, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize(
    "attribute", ["userName", "externalId", "displayName", "name", "emails", "active", "schemas"]
)
def test_odd_values_are_stored_or_refused(attribute: str, value: Any, directory: Directory) -> None:
    body = {"schemas": [f"{CORE}:User"], "userName": "x", attribute: value}
    if isinstance(value, str) and attribute in {"name", "emails"}:
        body[attribute] = {"familyName": value} if attribute == "name" else [{"value": value}]

    answer = directory.ask("POST", "/Users", body)

    assert directory.status in {201, 400}, answer
    if directory.status == 400:
        assert answer["schemas"] == [ERROR]
        assert DirectoryAccount.objects.count() == 0


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"7", b'"x"', b"\xff\xfe", b'{"a":' * 20_000),
        *(b'{"userName": "\\ud800"}', b'{"userName": NaN}', b'{"userName": 1e999}'),
        b'{"Operations": [{"op": "replace"}]}',
        b'{"Operations": [{"op": "destroy", "path": "active"}]}',
        b'{"Operations": [{"op": "replace", "path": "active"}]}',
        b'{"Operations": [{"op": "replace", "path": "members[", "value": []}]}',
        b'{"Operations": [{"op": "remove", "path": "userName"}]}',
        b'{"Operations": "x"}',
        b'{"Operations": []}',
    ],
    ids=lambda body: repr(body[:40]),
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_that_is_no_request_is_refused(
    method: str, body: bytes, directory: Directory
) -> None:
    pk = directory.add_user()

    refusal = directory.ask(method, "/Users" if method == "POST" else f"/Users/{pk}", body)

    assert directory.status == 400
    assert refusal["schemas"] == [ERROR]
    assert refusal["scimType"]


def test_a_group_has_only_accounts_of_the_directory(directory: Directory, alice: User) -> None:
    group = directory.add_group("staff")

    for value in (str(uuid4()), str(alice.pk), group, "\0", "x' OR 1=1", ""):
        operation = {"op": "add", "path": "members", "value": [{"value": value}]}
        refusal = directory.patch(f"/Groups/{group}", operation)
        assert (directory.status, refusal["scimType"]) == (400, "invalidValue"), value
    assert not DirectoryGroup.objects.get().members.exists()


def test_a_group_has_a_largest_size(directory: Directory) -> None:
    members = [{"value": str(uuid4())} for _ in range(MAX_MEMBERS + 1)]
    refusal = directory.ask(
        "POST", "/Groups", {"schemas": [f"{CORE}:Group"], "displayName": "x", "members": members}
    )

    assert (directory.status, refusal["scimType"]) == (400, "invalidValue")


def test_a_refused_operation_undoes_the_ones_before_it(directory: Directory) -> None:
    pk = directory.add_user(displayName="Nora")

    directory.patch(
        f"/Users/{pk}",
        {"op": "replace", "path": "displayName", "value": "Eve"},
        {"op": "replace", "path": "active", "value": False},
        {"op": "replace", "path": "userName", "value": "a\nb"},
    )

    assert directory.status == 400
    account = DirectoryAccount.objects.get()
    assert (account.display_name, account.is_active) == ("Nora", True)
    assert User.objects.get().is_active


@pytest.mark.parametrize("path", ["/Bulk", "/Me", "/.search"])
def test_what_is_not_supported_says_so(path: str, directory: Directory) -> None:
    refusal = directory.ask("POST", path, {})

    assert directory.status in {400, 501}
    assert refusal["schemas"] == [ERROR]


def test_no_page_offers_it(directory: Directory, alice: User) -> None:
    """A browser that is signed in cannot be made to send anything here."""
    browser = Client()
    browser.force_login(alice)

    answer = browser.post("/scim/v2/Users", {}, by_hand=True)

    assert answer.status_code == 401
    assert not answer.cookies


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=8), each, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *("userName", "externalId", "active", "emails", "name", "id", "meta", "schemas", "value"),
        *('emails[type eq "work"].value', "name.givenName", "members", "displayName", ""),
    ]
)


@pytest.mark.usefixtures("scim_settings")
class TestAnything(TestCase):
    @given(
        op=st.sampled_from(["add", "Replace", "REMOVE", "x", 1]),
        path=NAMES | st.text(max_size=20) | st.none(),
        value=JSON | st.dictionaries(NAMES, JSON, max_size=4),
    )
    def test_no_patch_is_an_error_of_the_server(self, op: Any, path: Any, value: Any) -> None:
        directory = Directory()
        pk = directory.add_user()

        directory.patch(f"/Users/{pk}", {"op": op, "path": path, "value": value})

        assert directory.status in {200, 400, 409}
