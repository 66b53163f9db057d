"""Names the problems of a sign-in with a provider. A page shows the title and the advice, in which
{name} is the provider. The log has the reason.

A failing provider is reported with 503, not 502, because some proxies replace the page of a 502."""

from __future__ import annotations

from http import HTTPStatus


class Problem(Exception):
    """Signing in with the provider did not work."""

    status = HTTPStatus.FORBIDDEN
    title = "You weren't signed in"
    advice = "Start again."


class ProviderAway(Problem):
    """The provider did not answer, or too slowly."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    title = "{name} doesn't answer"
    advice = "Nothing is wrong with your account. Try again in a minute."


class Busy(Problem):
    """Too many people sign in at this moment."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    title = "Many people are signing in"
    advice = "Try again in a minute."


class TooManySignIns(Problem):
    """One network began too many sign-ins; `seconds` is the time until it may begin another one."""

    title = "Too many sign-ins from your network"

    def __init__(self, seconds: int) -> None:
        super().__init__(TooManySignIns.__doc__)
        minutes = -(-seconds // 60)
        self.advice = f"Try again in {'a minute' if minutes <= 1 else f'{minutes} minutes'}."


class BadAnswer(Problem):
    """The provider's answer cannot be trusted or cannot be read."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    title = "The response from {name} wasn't accepted"
    advice = "Start again. If it happens again, tell your administrator: the server's log says why."


class SignInExpired(Problem):
    """No sign-in with this state was started in this browser, it took too long, or it was already
    used."""

    status = HTTPStatus.BAD_REQUEST
    title = "This sign-in expired"
    advice = "It took more than ten minutes, was used already, or began in another browser."


class SignInCancelled(Problem):
    """The provider refused the sign-in, or the person canceled it on the provider's page."""

    title = "{name} didn't sign you in"
    advice = (
        "You canceled, or your account there may not use Wake. If it should, ask the people who "
        "manage {name}."
    )


class NotConnected(Problem):
    """No person is connected to this account, and its e-mail address gives no right to sign up."""

    title = "No one in Wake is connected to this account"
    advice = (
        "Have you used Wake with a password? Sign in with it, then connect the account under "
        "Settings, Security. If you're new, ask for an invitation."
    )


class NotConnectedAndNoPasswords(Problem):
    """The person has not connected the account, and passwords are switched off."""

    title = NotConnected.title
    advice = "Ask your administrator or the owner of your team for an invitation."


class AddressNotVerified(Problem):
    """The provider does not say that the address belongs to the person."""

    title = "{name} hasn't confirmed your e-mail address"
    advice = "Confirm the address there, then start again. Until then Wake can't create an account."


class AddressTaken(Problem):
    """Another way of signing in belongs to the account with this address."""

    title = "Your e-mail address has an account in Wake"
    advice = (
        "Sign in with its password, then connect {name} under Settings, Security. From then on you "
        "sign in with {name}."
    )


class AddressTakenAndNoPasswords(Problem):
    """Same as AddressTaken, while passwords are switched off or the account has none."""

    title = AddressTaken.title
    advice = "It isn't connected to this account of {name}. Ask your administrator to connect it."


class Deactivated(Problem):
    """An administrator deactivated the person in Wake."""

    title = "Your account in Wake is deactivated"
    advice = "Ask your administrator."


class OtherAccount(Problem):
    """The person is connected to an account, and came back with a different one."""

    title = "That's another account"
    advice = "Sign in to {name} with the account that you are connected to."


class ConnectedToOther(Problem):
    """Another person of Wake is connected to this account."""

    title = "This account is connected to someone else"
    advice = "One account of {name} signs in one person. Use another one."


class AlreadyConnected(Problem):
    """The person is connected to an account of this provider."""

    title = "You're connected already"
    advice = "Disconnect the other account of {name} under Settings, Security first."


class SignedOutMeanwhile(Problem):
    """Another person, or no one, is now signed in. The sign-in began in this browser."""

    title = "You're no longer signed in"
    advice = "Sign in, then start again."


class NotAskedAgain(Problem):
    """The provider did not sign the person in again, although Wake requested it."""

    title = "{name} didn't ask you again"
    advice = "Wake can't confirm that it's you. Sign out of {name}, then start again."


class OnlyWayIn(Problem):
    """The person has no other way to sign in."""

    title = "You'd have no way to sign in"
    advice = "{name} is your only way to sign in, so you can't disconnect it."
