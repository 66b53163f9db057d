"""Describes a client to people. A client chooses its own name, so its host always stands beside the
name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from oauth2_provider.models import Application

from pages.characters.invisible import is_hidden
from pages.characters.look_alikes import label_look, mixes_scripts, nfc
from pages.characters.names import is_visible

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
# The private schemes of editors. Only the editor's own installation takes them (RFC 8252, 7.1).
EDITORS = {"cursor": "Cursor", "vscode": "VS Code", "vscode-insiders": "VS Code Insiders"}
THIS_COMPUTER = "this computer"
LOCAL = "localhost"  # stands for programs on people's own computers where a team lists hosts
MAX_NAME = 80
# Browsers and Python disagree about where a host with other characters ends. The host also stands
# in a content policy, where a semicolon would begin another directive.
HOST_AND_PORT = re.compile(r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[::1\])(?::[0-9]+)?", re.IGNORECASE)
# Words in the names of well-known clients, and their hosts (docs/connect.md).
WELL_KNOWN = {
    **dict.fromkeys(("chatgpt", "openai", "codex"), ("chatgpt.com", "openai.com")),
    **dict.fromkeys(("claude", "anthropic"), ("claude.ai", "claude.com", "anthropic.com")),
    "cursor": ("cursor.com",),
    **dict.fromkeys(("vscode", "visualstudio"), ("vscode.dev", "visualstudio.com")),
    "gemini": ("google.com", "antigravity.google"),
}


@dataclass(frozen=True, slots=True)
class Client:
    """Describes a client: the name that it gives itself, the place that people are sent back to,
    and the site that vouches for it, if its id is the address of a metadata document."""

    name: str
    host: str
    site: str

    @property
    def imitates(self) -> str:
        """Returns the host of a well-known client with a similar name if this client goes back
        elsewhere, else an empty text. A person's own machine is not elsewhere, because the
        programs of the well-known clients go back there, too."""
        if self.host == THIS_COMPUTER or self.host in EDITORS.values():
            return ""
        name = label_look(self.name).replace(" ", "")
        for word, hosts in WELL_KNOWN.items():
            is_theirs = any(f".{self.host}".endswith(f".{host}") for host in hosts)
            if label_look(word) in name and not is_theirs:
                return hosts[0]
        return ""


def describe(application: Application, redirect_uri: str) -> Client:
    is_document = application.registration_source == Application.RegistrationSource.CIMD
    site = site_of(application.client_id) if is_document else ""
    host = host_of(redirect_uri)
    name = clean_name(application.name) or (site or host)[:MAX_NAME]
    return Client(name=name, host=host, site=site)


def host_of(redirect_uri: str) -> str:
    """Returns the host of a web address, the editor's name for its scheme, or "this computer" for
    an address of the person's own machine."""
    parts = urlsplit(redirect_uri)
    if parts.scheme in EDITORS:
        return EDITORS[parts.scheme]
    if parts.hostname in LOOPBACK:
        return THIS_COMPUTER
    return parts.hostname or ""


def site_of(client_id: str) -> str:
    """Returns the host of a metadata document's address, or an empty text if the id is none."""
    try:
        return urlsplit(client_id).hostname or ""
    except ValueError:
        return ""


def is_safe_redirect(uri: str) -> bool:
    """Returns whether a code may be sent to this address: https, a port of the person's own
    machine, or the scheme of an editor (RFC 8252, RFC 9700)."""
    try:
        parts: SplitResult = urlsplit(uri)
        _ = parts.port  # raises ValueError
    except ValueError:
        return False
    # A host in other scripts could imitate another, so its ASCII form has to be registered.
    if not uri.isascii() or "#" in uri or "@" in parts.netloc:
        return False
    if parts.scheme in EDITORS:
        return True
    if not HOST_AND_PORT.fullmatch(parts.netloc):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def clean_name(name: str, *, longest: int = MAX_NAME) -> str:
    """Returns the name on one line, without invisible characters. Returns an empty text for a name
    that mixes scripts, because such names imitate others."""
    line = nfc(" ".join(name[: 4 * longest].split()))
    line = "".join(character for character in line if not is_hidden(character))[:longest]
    if not (line.isprintable() and is_visible(line)) or mixes_scripts(line):
        return ""
    return line
