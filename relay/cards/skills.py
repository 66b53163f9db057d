"""Reads the skills of a card from JSON, in the format of the file for `publish_agent`."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

from relay.protocol.fields import Fields, InvalidParams

MAX_SKILLS = 30
LONGEST_NAME, LONGEST_DESCRIPTION = 80, 1_000


def read_skills(value: Any) -> list[dict[str, Any]]:
    """Returns the skills in the form that the card stores (relay/models/cards.py); raises
    ValidationError."""
    if not isinstance(value, list) or len(value) > MAX_SKILLS:
        raise ValidationError(f"Must be an array of at most {MAX_SKILLS} skills.")
    try:
        skills = [_read(Fields(skill, f"[{number}]")) for number, skill in enumerate(value)]
    except InvalidParams as reason:
        raise ValidationError(str(reason)) from reason
    if len({skill["id"] for skill in skills}) != len(skills):
        raise ValidationError("Two skills have the same id.")
    return skills


def _read(skill: Fields) -> dict[str, Any]:
    tags = skill.ids("tags")
    if not tags:
        raise skill.wrong("tags", "Must have at least one.")
    members = {
        "id": skill.needed("id", longest=LONGEST_NAME),
        "name": skill.needed("name", longest=LONGEST_NAME),
        "description": skill.needed("description", longest=LONGEST_DESCRIPTION),
        "tags": tags,
        "examples": skill.texts("examples", longest=LONGEST_DESCRIPTION),
    }
    return {name: value for name, value in members.items() if value}
