"""Lists every address of the server from the URLconf, and the kind of object that its parameters
identify.

A new address below a known room needs no change here. A new kind of room needs one line in ROOMS.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver

from tests.tenancy.team_data import TeamData

PARAMETER = re.compile(r"<(?:(?P<kind>\w+):)?(?P<name>\w+)>")
MISSING = {"int": 2_000_000_000, "slug": "nobody-there"}

# Maps the part of a route up to its last parameter to a function that returns the ids of the
# objects.
ROOMS: dict[str, Callable[[TeamData], Any]] = {
    "deliveries/<uuid:pk>": lambda data: data.delivery.pk,
    "deliveries/<uuid:pk>/comments/<uuid:comment>": lambda data: (
        data.delivery.pk,
        data.comment.pk,
    ),
    "deliveries/<uuid:pk>/images/<slug:digest>": lambda data: (data.delivery.pk, data.blob.sha256),
    "deliveries/<uuid:pk>/files/<uuid:blob>": lambda data: (data.delivery.pk, data.blob.pk),
    "agents/<uuid:pk>": lambda data: data.agent.pk,
    "agents/<uuid:pk>/callers/<uuid:key>": lambda data: (data.agent.pk, data.caller_key.pk),
    "agents/<uuid:pk>/keys/<uuid:key>": lambda data: (data.agent.pk, data.key.pk),
    "agents/<uuid:pk>/clients/<uuid:client>": lambda data: (data.agent.pk, data.grant.pk),
    "agents/<uuid:pk>/aliases/<int:alias>": lambda data: (data.agent.pk, data.claim.pk),
    "batch/<uuid:pk>": lambda data: data.batch,
    "callbacks/<uuid:pk>": lambda data: data.callback.pk,
    "callbacks/targets/<uuid:pk>": lambda data: data.target.pk,
    "audit/<int:pk>": lambda data: data.event.pk,
    "tasks/<uuid:pk>": lambda data: data.task.pk,
    "tasks/<uuid:pk>/files/<slug:kind>/<int:row>/<int:number>": lambda data: (
        data.task.pk,
        "messages",
        data.task.messages.get().pk,
        0,
    ),
    "tasks/<uuid:pk>/pictures/<slug:kind>/<int:row>/<int:number>": lambda data: (
        data.task.pk,
        "messages",
        data.task.messages.get().pk,
        0,
    ),
    "contexts/<uuid:pk>": lambda data: data.task.context_id,
    "settings/saved-replies/<uuid:pk>": lambda data: data.saved_reply.pk,
    "settings/notifications/<uuid:pk>": lambda data: data.channel.pk,
    "settings/notifications/teams/<slug:slug>": lambda data: data.team.slug,
    "settings/security/passkeys/<uuid:pk>": lambda data: data.passkey.pk,
    "settings/security/clients/<uuid:pk>": lambda data: data.grant.pk,
    "settings/clients/<slug:slug>": lambda data: data.team.slug,
    "settings/rules/<slug:slug>": lambda data: data.team.slug,
    "settings/rules/<slug:slug>/<uuid:pk>": lambda data: (data.team.slug, data.rule.pk),
    "settings/rules/<slug:slug>/answering/<uuid:pk>": lambda data: (
        data.team.slug,
        data.answering_rule.pk,
    ),
    "settings/allowlist/<slug:slug>": lambda data: data.team.slug,
    "settings/gates/<slug:slug>": lambda data: data.team.slug,
    "settings/gates/<slug:slug>/<uuid:pk>": lambda data: (data.team.slug, data.gate.pk),
    "settings/retention/<slug:slug>": lambda data: data.team.slug,
    "settings/teams/<slug:slug>": lambda data: data.team.slug,
    "settings/members/<slug:slug>": lambda data: data.team.slug,
    "settings/members/<slug:slug>/<int:pk>": lambda data: (data.team.slug, data.membership.pk),
    "settings/members/<slug:slug>/invitations/<uuid:pk>": lambda data: (
        data.team.slug,
        data.invitation.pk,
    ),
    "@<str:handle>": lambda data: data.team.slug,
    "@<str:handle>/<str:name>": lambda data: (data.team.slug, data.agent.agent_id),
    "wake/v1/response/<str:delivery_id>": lambda data: data.delivery.pk,
    "wake/v1/withdraw/<str:delivery_id>": lambda data: data.delivery.pk,
    "wake/v1/claim/<str:delivery_id>": lambda data: data.response.delivery_id,
    "wake/v1/outcome/<str:delivery_id>": lambda data: data.delivery.pk,
    "wake/v1/receipt/<str:delivery_id>": lambda data: data.response.delivery_id,
    # A tile has hashes of the entries of all teams, and is public.
    "log/tile/<path:path>": lambda data: "0/000",
    "admin/accounts/agent/<uuid:agent_id>": lambda data: data.agent.pk,
    "admin/accounts/agent/<uuid:agent_id>/keys/<uuid:key_id>": lambda data: (
        data.agent.pk,
        data.key.pk,
    ),
    "admin/accounts/gate/<uuid:gate_id>": lambda data: data.gate.pk,
    "admin/accounts/oauthgrant/<uuid:grant_id>": lambda data: data.grant.pk,
    "admin/accounts/user/<id>": lambda data: data.owner.pk,
    "admin/r/<path:content_type_id>/<path:object_id>": lambda data: ("1", data.team.pk),
}
# These addresses need no sign-in: the sign-in itself, what a browser needs to install Wake, and the
# stream, which is empty without a sign-in.
PUBLIC = ("login/", "logout/", "live", "manifest.webmanifest", "offline/", "service-worker.js")
# The links in mails, and the link to a file of a task, are secrets of their own, and belong to no
# team. A client's registration has a token of its own.
OF_NO_TEAM = {
    "oauth/register/<str:client_id>",
    "scim/v2/<path:path>",
    "login/reset/<str:uidb64>/<str:token>",
    "login/address/<str:token>",
    "settings/address/<str:token>",
    "join/<str:token>",
    "artifacts/<str:token>",
}


@dataclass(frozen=True)
class Address:
    route: str

    @property
    def room(self) -> str:
        """Returns the route up to its last parameter, or nothing when it names no object."""
        *_, last = [0, *(match.end() for match in PARAMETER.finditer(self.route))]
        return self.route[:last]

    @property
    def is_admin(self) -> bool:
        return self.route.startswith("admin/")

    @property
    def is_protocol(self) -> bool:
        names = ("wake", "^wake", "mcp", "@", "connect", ".well-known", "artifacts", "log/")
        oauth = ("oauth/token", "oauth/revoke", "oauth/register", "oauth/device")
        return self.route.startswith(
            (*names, *oauth, "healthz", "readyz", "csp-reports", "slack", "scim")
        )

    def path_in(self, data: TeamData) -> str:
        return self._with(iter(self._ids(data)))

    def path_to_nothing(self) -> str:
        """Returns the path with an id that does not exist."""
        kinds = [match["kind"] or "str" for match in PARAMETER.finditer(self.route)]
        return self._with(iter([MISSING.get(kind, uuid.uuid4()) for kind in kinds]))

    def _ids(self, data: TeamData) -> list[Any]:
        if not self.room:
            return []
        model = re.fullmatch(r"admin/(\w+)/(\w+)/<path:object_id>", self.room)
        if model and self.room not in ROOMS:
            return [data.row_of(apps.get_model(model[1], model[2]))]
        if self.room not in ROOMS:
            pytest.fail(
                f"{self.route!r} names something that this test does not know: say in ROOMS of "
                f"tests/tenancy/addresses.py what {self.room!r} is the id of."
            )
        ids = ROOMS[self.room](data)
        return list(ids) if isinstance(ids, tuple) else [ids]

    def _with(self, ids: Iterator[Any]) -> str:
        return "/" + PARAMETER.sub(lambda _: str(next(ids)), self.route)


def _walk(resolver: URLResolver, before: str = "") -> Iterator[Address]:
    for pattern in resolver.url_patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern):
            # These addresses are written as regular expressions: missing paths, and the admin's
            # list of an app.
            if "(?" not in route:
                yield Address(route)
        else:
            yield from _walk(pattern, route)


ALL = [
    *_walk(get_resolver()),
    *(
        Address(f"admin/{app}/")
        for app in sorted({model._meta.app_label for model in admin.site._registry})
    ),
]
OF_PAGES = [each for each in ALL if not each.is_admin and not each.is_protocol]
WITH_AN_OBJECT = [each for each in OF_PAGES if each.room and each.room not in OF_NO_TEAM]
WITHOUT = [each for each in OF_PAGES if not each.room]
OF_ADMIN = [each for each in ALL if each.is_admin]
OF_PROTOCOL = [each for each in ALL if each.is_protocol]
OF_LINKS = [each for each in OF_PROTOCOL if each.room in OF_NO_TEAM]
