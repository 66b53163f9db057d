"""Makes new rows of models, for the few that agents make all day.

`Model.__init__` looks at every field in turn, and sends two signals. The defaults of a model are
always the same, so here they are copied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.db import models
from django.db.models.base import ModelState

Row = TypeVar("Row", bound=models.Model)


class _Blank(NamedTuple):
    """Holds what a new row of a model has before it is given anything: `values` by attribute,
    `made` for defaults that differ each time, and the attribute of each foreign key by its name."""

    values: dict[str, Any]
    made: dict[str, Callable[[], Any]]
    keys: dict[str, str]


def new(model: type[Row], /, **values: Any) -> Row:
    """Returns what `model(**values)` returns, without its signals. Raises TypeError for a value
    that is no field of the model."""
    blank = _blank(model)
    row = model.__new__(model)
    row._state = ModelState()
    attributes = row.__dict__
    attributes.update(blank.values)
    for name, value in values.items():
        if name in blank.keys:
            row._state.fields_cache[name] = value
            attributes[blank.keys[name]] = None if value is None else value.pk
        elif name in blank.values:
            attributes[name] = value
        else:
            raise TypeError(f"{model.__name__} has no field {name!r}.")
    for name, make in blank.made.items():
        if name not in values:
            attributes[name] = make()
    return row


@cache
def _blank(model: type[models.Model]) -> _Blank:
    blank = _Blank({}, {}, {})
    for field in model._meta.concrete_fields:
        is_made = field.has_default() and callable(field.default)
        blank.values[field.attname] = None if is_made else field.get_default()
        if is_made:
            blank.made[field.attname] = field.default
        if field.many_to_one:
            blank.keys[field.name] = field.attname
    return blank
