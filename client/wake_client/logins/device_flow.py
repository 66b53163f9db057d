"""Signs a terminal in: a person approves it in their browser, and the server issues a key for it
(RFC 8628)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from wake_client.errors import NotWake, WakeError, error_of, retry_after, unreachable
from wake_client.http import addresses, keys
from wake_client.http.flows import TEMPORARY_STATUSES
from wake_client.logins.stored import Access
from wake_client.version import __version__

CLIENT_ID = "wake-client"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
RESPONSE_SECONDS = 15.0
SLOW_DOWN_SECONDS = 5.0
MAX_INTERVAL_SECONDS = 60.0
MAX_MACHINE = 80
ENDED = {
    "access_denied": "A person refused the sign-in in the browser.",
    "expired_token": "The code has expired. Run the command again for another one.",
    "invalid_grant": "The code does not work any more. Run the command again for another one.",
}
NO_SIGN_IN = (
    "This server has no sign-in for terminals. Issue a key on the agent's page, then run "
    "`wake login --endpoint URL --agent ID`."
)


@dataclass(frozen=True, slots=True)
class Code:
    """Holds the code that a person types at `address`, or opens by `link`. It works for `seconds`
    seconds."""

    text: str
    address: str
    link: str
    seconds: float


def sign_in(
    endpoint: str,
    *,
    machine: str,
    agent_id: str = "",
    announce: Callable[[Code], None],
    transport: httpx.BaseTransport | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Access:
    """Returns the access that a person approved. They may choose another agent than `agent_id`.
    `announce` shows the code to them. Raises ValueError for an address that must not receive a key,
    and WakeError if the server does not issue one."""
    origin = addresses.origin(endpoint)
    with httpx.Client(
        base_url=origin,
        headers={"User-Agent": f"wake-client/{__version__}", "Accept": "application/json"},
        timeout=RESPONSE_SECONDS,
        follow_redirects=False,
        transport=transport,
    ) as http:
        device_code, code, interval = _begin(http, origin, machine[:MAX_MACHINE], agent_id)
        announce(code)
        polling = _Polling(http, device_code, interval, until=now() + code.seconds)
        while True:
            sleep(polling.interval)
            if now() >= polling.until:
                raise WakeError("expired_token", ENDED["expired_token"])
            issued = polling.ask()
            if issued is not None:
                return _access(issued, origin)


def _begin(http: httpx.Client, origin: str, machine: str, agent_id: str) -> tuple[str, Code, float]:
    form = {"client_id": CLIENT_ID, "machine": machine, "agent_id": agent_id}
    given = {name: text for name, text in form.items() if text}
    try:
        response = http.post("/oauth/device", data=given)
    except httpx.RequestError as failure:
        raise unreachable(failure) from failure
    if response.status_code == httpx.codes.NOT_FOUND:
        raise NotWake("no_sign_in", NO_SIGN_IN, status=response.status_code)
    if not response.is_success:
        raise _error(response)
    try:
        content = response.json()
        address, text = str(content["verification_uri"]), str(content["user_code"])
        link = str(content.get("verification_uri_complete") or address)
        code = Code(text, address, link, float(content["expires_in"]))
        interval = max(1.0, float(content.get("interval", 5)))
        begun = str(content["device_code"]), code, interval
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotWake("not_wake", f"{origin} did not answer with a code.") from error
    _check_origin(address, origin)
    _check_origin(link, origin)
    return begun


def _check_origin(address: str, origin: str) -> None:
    """Raises NotWake if the code belongs to another server. A server that passes on the codes of
    another one would get the key that the other one issues."""
    if _server(address) != _server(origin):
        raise NotWake(
            "other_server",
            f"The server at {origin} sends you to {address}, which is another address. If that is "
            "your server, sign in there.",
        )


def _server(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}[parts.scheme]
    except (ValueError, KeyError):
        return "", None, None


@dataclass(slots=True)
class _Polling:
    """Asks whether a person has decided, less and less often if the server cannot keep up (RFC
    8628, 3.5)."""

    http: httpx.Client
    device_code: str
    interval: float
    until: float

    def ask(self) -> dict[str, Any] | None:
        """Returns the server's answer with the key, or None if it has not decided. Raises
        WakeError."""
        form = {
            "grant_type": DEVICE_CODE,
            "device_code": self.device_code,
            "client_id": CLIENT_ID,
        }
        try:
            response = self.http.post("/oauth/token", data=form)
        except httpx.RequestError:
            self._back_off()
            return None
        if response.is_success:
            return _json(response)
        error = _error(response)
        if response.status_code in TEMPORARY_STATUSES:
            self._back_off(error.retry_after or 0)
        elif error.code == "slow_down":
            self.interval += SLOW_DOWN_SECONDS
        elif error.code != "authorization_pending":
            raise error
        return None

    def _back_off(self, at_least: float = 0) -> None:
        doubled = min(self.interval * 2, MAX_INTERVAL_SECONDS)
        self.interval = max(self.interval, doubled, at_least)


def _access(issued: dict[str, Any], origin: str) -> Access:
    try:
        key, agent_id = str(issued["access_token"]), str(issued["agent_id"])
        return Access(origin, keys.checked(key), agent_id)
    except (ValueError, KeyError) as error:
        raise NotWake("not_wake", f"{origin} did not answer with a key.") from error


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        content = response.json()
    except ValueError as error:
        raise NotWake("not_wake", "The response is not JSON.") from error
    return content if isinstance(content, dict) else {}


def _error(response: httpx.Response) -> WakeError:
    """Returns the error of the authorization server (RFC 6749, 5.2), or of a proxy before it."""
    try:
        content = response.json()
        code = content["error"]
    except (ValueError, KeyError, TypeError):
        return error_of(response)
    if not isinstance(code, str):
        return error_of(response)
    reason = content.get("error_description") or ENDED.get(code) or "The server refused."
    status, seconds = response.status_code, retry_after(response)
    return WakeError(code, str(reason), status=status, retry_after=seconds)
