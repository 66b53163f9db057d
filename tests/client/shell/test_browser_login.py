"""`wake login URL` gets its key from a person who approves it in the browser."""

from __future__ import annotations

import json
import stat
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from tests.client.shell.command import wake
from tests.client.test_sdk import KEY, Server, ok
from wake_client.hook import cli as hook
from wake_client.logins import device_flow
from wake_client.shell import browser_login
from wake_client.shell.browser_login import SignIn, Terminal, offer
from wake_client.shell.parser import parser

SERVER = "https://wake.example.com"
LINK = f"{SERVER}/device/?code=BCDF-GHJK"
CODE = {
    "device_code": "a-device-code",
    "user_code": "BCDF-GHJK",
    "verification_uri": f"{SERVER}/device/",
    "verification_uri_complete": LINK,
    "expires_in": 600,
    "interval": 5,
}
ISSUED = {"access_token": KEY, "token_type": "Bearer", "agent_id": "painter", "team": "harbour"}


def refusal(code: str, status: int = 400, **more: str) -> httpx.Response:
    return httpx.Response(status, json={"error": code, **more})


def sign_in(server: Server) -> SignIn:
    return partial(
        device_flow.sign_in,
        transport=httpx.MockTransport(server.answer),
        sleep=server.sleep,
        now=lambda: server.time,
    )


class Desk:
    """Is where a person sits: they type these answers, and see the links that are opened."""

    def __init__(self, *answers: str, has_browser: bool = False) -> None:
        self.answers, self.has_browser = list(answers), has_browser
        self.questions: list[str] = []
        self.opened: list[str] = []
        self.terminal = Terminal("olga-laptop", ask=self.ask, open_link=self.open_link)

    def ask(self, question: str) -> str:
        self.questions.append(question)
        return self.answers.pop(0)

    def open_link(self, link: str) -> bool:
        if self.has_browser:
            self.opened.append(link)
        return self.has_browser


def login(
    server: Server,
    home: Path,
    *words: str,
    url: str = SERVER,
    desk: Desk | None = None,
    **variables: str,
) -> int:
    return wake(
        server,
        "login",
        url,
        *words,
        variables={"HOME": str(home), **variables},
        terminal=(desk or Desk()).terminal,
        sign_in=sign_in(server),
    )


def forms(server: Server) -> list[dict[str, list[str]]]:
    return [parse_qs(request.content.decode()) for request in server.requests]


def stored(home: Path) -> Any:
    return json.loads((home / ".config/wake/agents.json").read_text())


def test_the_key_of_an_approved_sign_in_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(ok(CODE), refusal("authorization_pending"), ok(ISSUED))

    assert login(server, tmp_path, "--agent", "painter") == 0

    path = tmp_path / ".config/wake/agents.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stored(tmp_path) == {
        "default": "painter",
        "agents": {"painter": {"endpoint": SERVER, "key": KEY}},
    }
    printed = capsys.readouterr()
    assert "BCDF-GHJK" in printed.err
    assert LINK in printed.err
    assert printed.out == f"painter is logged in at {SERVER} ({path})\n"
    assert KEY not in printed.out + printed.err
    begun, *polls = forms(server)
    assert begun == {
        "client_id": ["wake-client"],
        "machine": ["olga-laptop"],
        "agent_id": ["painter"],
    }
    assert [str(request.url.path) for request in server.requests] == [
        "/oauth/device",
        "/oauth/token",
        "/oauth/token",
    ]
    assert polls[0] == {
        "client_id": ["wake-client"],
        "device_code": ["a-device-code"],
        "grant_type": ["urn:ietf:params:oauth:grant-type:device_code"],
    }
    assert server.slept == [5, 5]
    assert not any("Authorization" in request.headers for request in server.requests)


def test_a_program_reads_the_result_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert login(Server(ok(CODE), ok(ISSUED)), tmp_path, "--json") == 0

    assert json.loads(capsys.readouterr().out) == {
        "agent_id": "painter",
        "endpoint": SERVER,
        "file": str(tmp_path / ".config/wake/agents.json"),
        "key_in": "file",
    }


def test_a_key_in_the_environment_is_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert login(Server(ok(CODE), ok(ISSUED)), tmp_path, WAKE_API_KEY="wk_live_other") == 0

    assert "WAKE_API_KEY is set" in capsys.readouterr().err
    assert stored(tmp_path)["agents"]["painter"]["key"] == KEY


def test_it_asks_less_often_when_the_server_says_so(tmp_path: Path) -> None:
    server = Server(ok(CODE), refusal("slow_down"), refusal("slow_down"), ok(ISSUED))

    assert login(server, tmp_path) == 0

    assert server.slept == [5, 10, 15]


def test_it_asks_less_often_while_the_server_is_away(tmp_path: Path) -> None:
    away = httpx.ConnectError("away")
    busy = refusal("temporarily_unavailable", 429)
    busy.headers["Retry-After"] = "45"
    server = Server(ok(CODE), away, httpx.Response(502), busy, ok(ISSUED))

    assert login(server, tmp_path) == 0

    assert server.slept == [5, 10, 20, 45]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal("access_denied"), "A person refused the sign-in in the browser. (access_denied)"),
        (refusal("expired_token"), "The code has expired. Run the command again"),
        (refusal("invalid_grant"), "The code does not work any more."),
        (refusal("access_denied", error_description="You left."), "You left. (access_denied)"),
        (httpx.Response(404, text="no"), "answered 404"),
        (httpx.Response(200, text="yes"), "not JSON"),
        (ok({}), "did not answer with a key"),
        (ok({"access_token": "with space", "agent_id": "a"}), "did not answer with a key"),
    ],
)
def test_an_end_without_a_key_is_explained(
    answer: httpx.Response, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert login(Server(ok(CODE), answer), tmp_path) == 1

    assert words in capsys.readouterr().err
    assert not (tmp_path / ".config").exists()


def test_it_stops_when_the_code_has_expired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(ok({**CODE, "expires_in": 12}), refusal("authorization_pending"))

    assert login(server, tmp_path) == 1

    assert len(server.requests) == 3
    assert "The code has expired" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(404), "This server has no sign-in for terminals."),
        (refusal("temporarily_unavailable", 429, error_description="Try later."), "Try later."),
        (ok({"user_code": "B"}), "did not answer with a code"),
        (ok([]), "did not answer with a code"),
        (httpx.ConnectError("away", request=httpx.Request("POST", SERVER)), "could not be reached"),
        (httpx.Response(302, headers={"Location": "https://b.example"}), "points to https://b"),
    ],
)
def test_a_server_without_a_code_is_explained(
    answer: httpx.Response | Exception,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert login(Server(answer), tmp_path) == 1

    assert words in capsys.readouterr().err


@pytest.mark.parametrize("field", ["verification_uri", "verification_uri_complete"])
@pytest.mark.parametrize(
    "address", ["https://other.example.com/device/", "http://wake.example.com/", "javascript:1"]
)
def test_no_one_is_sent_to_another_server(
    field: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that asks another one for a code would get that one's key."""
    server = Server(ok({**CODE, field: address}), ok(ISSUED))

    assert login(server, tmp_path) == 1

    assert "which is another address" in capsys.readouterr().err
    assert len(server.requests) == 1


def test_the_key_is_asked_for_over_https_only(tmp_path: Path) -> None:
    server = Server(ok(CODE))

    with pytest.raises(ValueError, match="must be reached over https"):
        login(server, tmp_path, url="http://wake.example.com")
    assert server.requests == []


def test_a_damaged_file_is_noticed_before_a_key_is_issued(tmp_path: Path) -> None:
    path = tmp_path / ".config/wake/agents.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    server = Server(ok(CODE))

    with pytest.raises(ValueError, match="is damaged"):
        login(server, tmp_path)
    assert server.requests == []


def test_control_c_is_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(ok(CODE))

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    server.sleep = interrupted  # type: ignore[method-assign]

    assert login(server, tmp_path) == 130

    assert capsys.readouterr().err.splitlines()[-1] == "wake: stopped"


@pytest.mark.parametrize("words", [["--remove"], ["--endpoint", SERVER]])
def test_an_address_excludes_the_options_of_the_other_way(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Leave out --endpoint and --remove"):
        login(Server(ok(CODE)), tmp_path, *words)


def test_what_the_server_writes_acts_on_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(ok({**CODE, "user_code": "\x1b[2JBCDF\n"}), ok({**ISSUED, "agent_id": "a\x1b"}))

    assert login(server, tmp_path) == 0

    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "Your code: ⟨U+001B⟩[2JBCDF⟨U+000A⟩\n" in printed.err


@pytest.mark.parametrize(
    ("variables", "platform", "has_screen"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, "linux", False),
        ({"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, "darwin", False),
    ],
)
def test_a_browser_is_opened_where_the_person_sees_it(
    variables: dict[str, str], platform: str, *, has_screen: bool
) -> None:
    assert browser_login.has_screen(variables, platform=platform) is has_screen


@pytest.mark.parametrize("words", [[], ["--no-browser"]])
def test_the_browser_gets_the_link_with_the_code(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(has_browser=True)

    assert login(Server(ok(CODE), ok(ISSUED)), tmp_path, *words, desk=desk) == 0

    assert desk.opened == ([] if words else [LINK])
    assert "BCDF-GHJK" in capsys.readouterr().err


def test_a_person_in_a_terminal_is_offered_to_sign_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, desk = Server(ok(CODE), ok(ISSUED)), Desk(SERVER)

    login = offer({"HOME": str(tmp_path)}, desk.terminal, sign_in=sign_in(server))

    assert login is not None
    assert (login.endpoint, login.agent_id, login.read_key()) == (SERVER, "painter", KEY)
    assert stored(tmp_path)["default"] == "painter"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("typed", "url"), [("n", SERVER), ("later", SERVER), ("", "")])
def test_a_person_in_a_terminal_may_decline(typed: str, url: str, tmp_path: Path) -> None:
    server = Server(ok(CODE))
    variables = {"HOME": str(tmp_path)}

    assert offer(variables, Desk(typed).terminal, url=url, sign_in=sign_in(server)) is None
    assert server.requests == []


def test_a_script_without_a_terminal_is_told_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variables = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    connect = parser().parse_args(["connect", "--url", SERVER])

    with pytest.raises(ValueError, match=rf"or run `wake login {SERVER}` first"):
        connect.start(connect, ["true"], variables)
    assert hook.main(["install", "claude-code"], variables) == 0
    assert "run `wake login URL`" in capsys.readouterr().err
