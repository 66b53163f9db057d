"""Carries out the operator's commands: creates teams, keys and people."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction

from accounts.access import directory, members
from accounts.access.moves import TeamMoved, is_closed, refuse_moved_handle
from accounts.agents import gates, keys, registration, signing_secrets
from accounts.audit import Actor, record
from accounts.models import Agent, Gate, Membership, Team, User
from accounts.models.moves import closed_teams
from accounts.sign_in.browsers import sessions
from accounts.sign_in.passwords import passwords
from accounts.sign_in.two_step import second_factor
from database.clock import database_now
from pages.characters.addresses import read_address
from pages.characters.look_alikes import nfc

OPERATOR = Actor("operator", name="Operator")
FIRST_TEAM = "home"
# Leaves out letters and digits that look alike.
PASSWORD_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # noqa: S105 - the alphabet of one


class HasAnotherRole(Exception):
    """This person is already in this team, with another role. An owner can change it."""


class NoSuchPerson(Exception):
    """No person has this e-mail address."""


class NoSuchAgent(Exception):
    """No team or agent has this name."""


class NoSecondFactor(Exception):
    """No person has this e-mail address, or they have no two-step sign-in."""


@dataclass(frozen=True, slots=True)
class Issued:
    """Holds an agent with its new key and its signing secret."""

    agent: Agent
    key: str
    signing_secret: str
    is_new_agent: bool


@transaction.atomic
def issue_key(agent_id: str, *, team_slug: str | None, mode: str) -> Issued:
    """Issues a key of the agent, and registers the agent and the team if they are new. Raises
    ValidationError, TooManyKeys, and SecretUnreadable if the encryption key of the agent's secret
    is missing.

    Also returns the signing secret if the agent exists already. A script needs the secret at every
    start, and the operator can read WAKE_ENCRYPTION_KEYS and the database anyway.
    """
    agent, is_new = get_or_register_agent(agent_id, team_slug=team_slug)
    signing_secrets.ensure_secret(agent, by=OPERATOR)
    _, key = keys.mint(agent, by=OPERATOR, mode=mode)
    return Issued(agent, key, signing_secrets.secrets_of(agent.pk)[0], is_new)


@transaction.atomic
def issue_gate(name: str, *, agent_ids: list[str], team_slug: str | None) -> str:
    """Issues a gate key for agents of the team, and returns its text. Raises NoSuchAgent,
    ValidationError or gates.TooManyGates."""
    teams = Team.objects.exclude(pk__in=closed_teams()).order_by("pk")
    team = (teams.filter(slug=team_slug) if team_slug else teams).first()
    agents = list(Agent.objects.filter(team=team, agent_id__in=agent_ids))
    unknown = [id for id in agent_ids if id not in {agent.agent_id for agent in agents}]
    if team is None or unknown:
        raise NoSuchAgent(f"There is no {unknown[0] if team else team_slug or 'team'} here.")
    Gate(team=team, name=name).clean_fields(exclude=["hint", "digest", "issued_by"])
    return gates.issue(team, name=name, agents=agents, by=OPERATOR, at=database_now())[1]


@transaction.atomic
def get_or_register_agent(agent_id: str, *, team_slug: str | None) -> tuple[Agent, bool]:
    """Returns the agent, and whether it is new. Registers the agent and its team if they do not
    exist. Raises ValidationError."""
    team = _get_or_create_team(team_slug)
    members.hold(team.pk)  # only one registration at a time
    spellings = [agent_id, nfc(agent_id)]
    agent = Agent.objects.filter(team=team, agent_id__in=spellings).first()
    if agent is not None:
        return agent, False
    agent = Agent(team=team, agent_id=agent_id)
    agent.full_clean()
    registration.register(agent, by=OPERATOR)
    return agent, True


@transaction.atomic
def add_person(
    email: str, *, team_slug: str | None, role: str, password: str
) -> tuple[Membership, bool]:
    """Adds a person to a team; returns the membership and whether the person is new. An existing
    person keeps their password. Raises ValidationError and HasAnotherRole.

    The first owner on the server may enter /admin/.
    """
    team = _get_or_create_team(team_slug)
    email = read_address(email)
    user = User.objects.filter(email=email).first()
    is_new = user is None
    if user is None:
        is_owner = role == Membership.Role.OWNER
        is_first = is_owner and not User.objects.filter(is_superuser=True).exists()
        user = _new_person(email, password, is_superuser=is_first)
    membership, is_new_here = Membership.objects.get_or_create(
        team=team, user=user, defaults={"role": role}
    )
    if is_new_here:
        record("membership.added", by=OPERATOR, of=membership, team=team, role=role, person=user.pk)
    elif membership.role != role:
        raise HasAnotherRole(HasAnotherRole.__doc__)
    return membership, is_new


@transaction.atomic
def add_superuser(email: str, *, password: str) -> User:
    """Adds a person who may do everything in /admin/ and belongs to no team. Raises
    ValidationError."""
    return _new_person(read_address(email), password, is_superuser=True)


def person_with(email: str) -> User:
    """Returns the person with this e-mail address. Raises NoSuchPerson."""
    user = User.objects.filter(email=read_address(email)).first()
    if user is None:
        raise NoSuchPerson(NoSuchPerson.__doc__)
    return user


@transaction.atomic
def change_password(email: str, password: str) -> User:
    """Sets another password. Raises NoSuchPerson and ValidationError."""
    user = person_with(email)
    validate_password(password, user)
    passwords.change_password(user, password, by=OPERATOR)
    return user


@transaction.atomic
def remove_second_factor(email: str) -> User:
    """Removes the app, the passkeys and the recovery codes of a person who lost them. Raises
    NoSecondFactor."""
    user = User.objects.filter(email=read_address(email)).first()
    if user is None or not second_factor.remove_all(user, by=OPERATOR):
        raise NoSecondFactor(NoSecondFactor.__doc__)
    sessions.end_all(user)
    return user


@transaction.atomic
def reset_sign_in(email: str) -> User:
    """Removes every way in which a person signs in, so that the provider may connect them by their
    address (accounts/sign_in/oidc/identities.py). Raises NoSuchPerson."""
    user = User.objects.select_for_update().filter(email=read_address(email)).first()
    if user is None:
        raise NoSuchPerson(NoSuchPerson.__doc__)
    user.set_unusable_password()
    user.save(update_fields=["password"])
    user.identities.all().delete()
    user.passkeys.all().delete()
    directory.disconnect(user)
    second_factor.delete_recovery_codes_if_off(user)
    sessions.end_all(user)
    record("person.sign_in_reset", by=OPERATOR, of=user, team=None)
    return user


def new_password() -> str:
    """Returns four groups of five characters, 99 bits, that are easy to copy or read aloud."""
    return "-".join("".join(secrets.choice(PASSWORD_LETTERS) for _ in range(5)) for _ in range(4))


def in_one_sentence(error: ValidationError) -> str:
    """Returns the errors as one text, such as `agent_id: This field cannot be blank.` An error
    without a field has no name before it."""
    if hasattr(error, "error_dict"):
        return " ".join(
            message if field == NON_FIELD_ERRORS else f"{field}: {message}"
            for field, messages in error.message_dict.items()
            for message in messages
        )
    return " ".join(error.messages)


def _get_or_create_team(slug: str | None) -> Team:
    """Returns the team with that slug, or the first team if no slug is given. Creates the team if
    it does not exist. Raises ValidationError for a team that moves or has moved."""
    team = (Team.objects.filter(slug=slug) if slug else Team.objects.order_by("pk")).first()
    if team is None:
        _check_not_moved(slug or FIRST_TEAM)
        return _new_team(slug or FIRST_TEAM)
    if is_closed(team.pk):
        raise ValidationError(f"The team {team.slug} moves to another server (docs/cells.md).")
    return team


def _check_not_moved(slug: str) -> None:
    try:
        refuse_moved_handle(slug)
    except TeamMoved as reason:
        raise ValidationError(f"The team {slug} has moved to {reason.server}.") from None


def _new_team(slug: str) -> Team:
    team = Team(slug=slug, name=slug.replace("-", " ").capitalize())
    team.full_clean()
    team.save()
    record("team.added", by=OPERATOR, of=team, team=team)
    return team


def _new_person(email: str, password: str, *, is_superuser: bool) -> User:
    user = User(email=email, display_name=email.partition("@")[0][:80])
    user.full_clean(exclude=["password"])
    if settings.PRODUCTION:  # on a developer's own machine, any password is good enough
        validate_password(password, user)
    create = User.objects.create_superuser if is_superuser else User.objects.create_user
    user = create(email, password)
    record("person.added", by=OPERATOR, of=user, team=None, is_superuser=is_superuser)
    return user
