"""Every address of the server, as the URLconf has them, and what its parameters are ids of.

A new address below a room that is known is covered by itself. A new kind of room has to be told
once, in ROOMS.
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

from tests.tenancy.house import House

PARAMETER = re.compile(r"<(?:(?P<kind>\w+):)?(?P<name>\w+)>")
NOBODYS = {"int": 2_000_000_000, "slug": "nobody-there"}

# What stands before the first parameter and up to the last one, and whose ids those are.
ROOMS: dict[str, Callable[[House], Any]] = {
    "deliveries/<uuid:pk>": lambda house: house.delivery.pk,
    "agents/<uuid:pk>": lambda house: house.agent.pk,
    "agents/<uuid:pk>/callers/<uuid:key>": lambda house: (house.agent.pk, house.caller_key.pk),
    "agents/<uuid:pk>/keys/<uuid:key>": lambda house: (house.agent.pk, house.key.pk),
    "agents/<uuid:pk>/claims/<int:claim>": lambda house: (house.agent.pk, house.claim.pk),
    "batch/<uuid:pk>": lambda house: house.batch,
    "webhooks/<uuid:pk>": lambda house: house.callback.pk,
    "webhooks/targets/<uuid:pk>": lambda house: house.target.pk,
    "audit/<int:pk>": lambda house: house.event.pk,
    "tasks/<uuid:pk>": lambda house: house.task.pk,
    "tasks/<uuid:pk>/files/<slug:kind>/<int:row>/<int:number>": lambda house: (
        house.task.pk,
        "messages",
        house.task.messages.get().pk,
        0,
    ),
    "contexts/<uuid:pk>": lambda house: house.task.context_id,
    "settings/phrases/<uuid:pk>": lambda house: house.phrase.pk,
    "settings/allowlist/<slug:slug>": lambda house: house.team.slug,
    "settings/retention/<slug:slug>": lambda house: house.team.slug,
    "settings/teams/<slug:slug>": lambda house: house.team.slug,
    "settings/members/<slug:slug>": lambda house: house.team.slug,
    "settings/members/<slug:slug>/<int:pk>": lambda house: (house.team.slug, house.membership.pk),
    "settings/members/<slug:slug>/invitations/<uuid:pk>": lambda house: (
        house.team.slug,
        house.invitation.pk,
    ),
    "@<str:handle>": lambda house: house.team.slug,
    "@<str:handle>/<str:name>": lambda house: (house.team.slug, house.agent.agent_id),
    "wake/v1/response/<str:delivery_id>": lambda house: house.delivery.pk,
    "admin/accounts/agent/<uuid:agent_id>": lambda house: house.agent.pk,
    "admin/accounts/agent/<uuid:agent_id>/keys/<uuid:key_id>": lambda house: (
        house.agent.pk,
        house.key.pk,
    ),
    "admin/accounts/user/<id>": lambda house: house.owner.pk,
    "admin/r/<path:content_type_id>/<path:object_id>": lambda house: ("1", house.team.pk),
}
# The links in mails, and that to a file of a task, are secrets of their own, and ask for no team.
OF_NO_TEAM = {
    "login/reset/<str:uidb64>/<str:token>",
    "join/<str:token>",
    "artifacts/<str:token>",
}


@dataclass(frozen=True)
class Address:
    route: str

    @property
    def room(self) -> str:
        """Empty where no object is named."""
        *_, last = [0, *(found.end() for found in PARAMETER.finditer(self.route))]
        return self.route[:last]

    @property
    def is_admin(self) -> bool:
        return self.route.startswith("admin/")

    @property
    def is_protocol(self) -> bool:
        begins = ("wake", "^wake", "@", "connect", ".well-known", "healthz", "readyz")
        return self.route.startswith(begins)

    def path_in(self, house: House) -> str:
        return self._with(iter(self._ids(house)))

    def path_to_nothing(self) -> str:
        """To a thing that nobody has."""
        kinds = [found["kind"] or "str" for found in PARAMETER.finditer(self.route)]
        return self._with(iter([NOBODYS.get(kind, uuid.uuid4()) for kind in kinds]))

    def _ids(self, house: House) -> list[Any]:
        if not self.room:
            return []
        model = re.fullmatch(r"admin/(\w+)/(\w+)/<path:object_id>", self.room)
        if model and self.room not in ROOMS:
            return [house.row_of(apps.get_model(model[1], model[2]))]
        if self.room not in ROOMS:
            pytest.fail(
                f"{self.route!r} names something that this test does not know: say in ROOMS of "
                f"tests/tenancy/addresses.py what {self.room!r} is the id of."
            )
        ids = ROOMS[self.room](house)
        return list(ids) if isinstance(ids, tuple) else [ids]

    def _with(self, ids: Iterator[Any]) -> str:
        return "/" + PARAMETER.sub(lambda _: str(next(ids)), self.route)


def _walk(resolver: URLResolver, before: str = "") -> Iterator[Address]:
    for pattern in resolver.url_patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern):
            # Written as regular expressions: what is not there, and the admin's list of an app.
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
