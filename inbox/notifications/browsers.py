"""Turns notifications on in a browser, and off when the person signs out there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import QuerySet

from accounts.audit import Actor
from accounts.models import User
from inbox.models import Channel
from inbox.notifications.channels import channels
from inbox.notifications.channels.channels import Owner
from inbox.notifications.channels.kinds.web_push import NAME

# A session, or the data of a session that has ended.
Session = SessionBase | Mapping[str, Any]
# The key under which a session stores the channel that was added in this session.
KEY = "web_push"


@transaction.atomic
def turn_on(
    user: User, address: str, *, name: str, here: SessionBase, by: Actor, at: datetime
) -> Channel:
    """Adds a channel for this browser. The new channel replaces an earlier one, whose subscription
    the browser has ended. Raises TooManyChannels and AlreadyThere."""
    turn_off(user, here, by=by, at=at)
    channel = channels.add(Owner(user=user), kind=NAME, name=name, address=address, by=by, at=at)
    here[KEY] = str(channel.pk)
    return channel


@transaction.atomic
def renew(user: User, address: str, *, here: SessionBase, by: Actor, at: datetime) -> bool:
    """Replaces the stored subscription of this browser by the present one. Returns False if this
    browser has no channel: the channel was removed, or the person has signed in again since."""
    channel = added_here(user, here)
    if channel is None:
        return False
    channels.readdress(channel, address, by=by, at=at)
    return True


def added_here(user: User, here: Session) -> Channel | None:
    """Returns the channel of this browser, if it was turned on since its person signed in."""
    if KEY not in here:
        return None
    return _browsers_of(user).filter(pk=UUID(here[KEY])).first()


def turn_off(user: User, here: Session, *, by: Actor, at: datetime) -> None:
    """Removes the channel of this browser, because another person may use the browser next."""
    if channel := added_here(user, here):
        channels.remove(channel, by=by, at=at)


def turn_off_others(user: User, here: Session, *, by: Actor, at: datetime) -> None:
    """Removes the channels of all other browsers of this person; with an empty `here`, of all
    browsers."""
    for channel in _browsers_of(user):
        if str(channel.pk) != here.get(KEY):
            channels.remove(channel, by=by, at=at)


def _browsers_of(user: User) -> QuerySet[Channel]:
    return Channel.objects.filter(user=user, kind=NAME)
