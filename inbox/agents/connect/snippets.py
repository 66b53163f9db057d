"""Fills the snippets that connect an agent: with the agent's id and this server's address, but
never with a key."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from functools import cache

from django.conf import settings

from accounts.models import Agent

# The snippets are complete files with this example id and origin, which fill() replaces.
EXAMPLES = re.compile(r"[\"']research-agent-01[\"']|https://wake\.example\.com")


CODING_AGENTS, PROGRAMS, FRAMEWORKS = "Coding agents", "Your own program", "Frameworks"
ASKS_AND_WAITS = "A tool that asks a person and waits for the answer."


@dataclass(frozen=True, slots=True)
class Snippet:
    """Shows a text to copy. `hint` says how to use the text, and may also contain EXAMPLES. The
    text comes from templates/inbox/agents/connect/snippets/`name`.txt."""

    name: str
    title: str
    hint: str
    group: str
    text: str = ""


KINDS = (
    Snippet(
        "mcp-claude-code",
        "Claude Code",
        "Run this in a terminal where WAKE_API_KEY is set. Claude Code can then deliver, ask and "
        "read answers.",
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-codex",
        "Codex CLI",
        "Add it to ~/.codex/config.toml, and start Codex where WAKE_API_KEY is set.",
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-cursor",
        "Cursor",
        "Save it as .cursor/mcp.json in a project, and start Cursor where WAKE_API_KEY is set.",
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-vscode",
        "VS Code",
        "Save it as .vscode/mcp.json in a project. VS Code asks for the key and keeps it.",
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-claude-desktop",
        "Claude Desktop",
        "Install wake-client (pip install ./client from a checkout of Wake), run wake login "
        "--endpoint https://wake.example.com --agent 'research-agent-01' once, and add this to "
        "claude_desktop_config.json.",
        CODING_AGENTS,
    ),
    Snippet(
        "hook",
        "Permission prompts",
        "People answer the permission prompts of Claude Code here, also on a phone. Install "
        "wake-client first. For Codex or Cursor, write codex or cursor in the second line.",
        CODING_AGENTS,
    ),
    Snippet(
        "claude-code",
        "Claude Code, as a skill",
        "Save it as .claude/skills/wake/SKILL.md in a project, and set WAKE_API_KEY before you "
        "start Claude Code. It asks before it runs curl for the first time.",
        CODING_AGENTS,
    ),
    Snippet("curl", "curl", "Run this in a terminal where WAKE_API_KEY is set.", PROGRAMS),
    Snippet(
        "system-prompt",
        "System prompt",
        "For any agent that can make HTTP requests. It follows the template in the specification.",
        PROGRAMS,
    ),
    Snippet(
        "python",
        "Python",
        "Save it as wake_inbox.py and import it, or run it to ask a sample question. It uses only "
        "the standard library.",
        PROGRAMS,
    ),
    Snippet(
        "wake-client",
        "Python with wake-client",
        "Install it from a checkout of Wake: pip install ./client (Python 3.11 or later). It "
        "retries and never delivers twice.",
        PROGRAMS,
    ),
    Snippet(
        "node",
        "Node",
        "Save it as wake.mjs and import it, or run it to ask a sample question. It needs Node 18 "
        "or later and no packages.",
        PROGRAMS,
    ),
    Snippet("openai-agents", "OpenAI Agents SDK", ASKS_AND_WAITS, FRAMEWORKS),
    Snippet("langgraph", "LangGraph", ASKS_AND_WAITS, FRAMEWORKS),
    Snippet("crewai", "CrewAI", ASKS_AND_WAITS, FRAMEWORKS),
    Snippet(
        "n8n",
        "n8n",
        "Paste it into an empty workflow, then choose a Bearer Auth credential with the key in "
        "both HTTP nodes.",
        FRAMEWORKS,
    ),
)


def snippets(agent: Agent) -> list[Snippet]:
    origin = settings.WAKE_ORIGIN
    return [
        replace(
            kind,
            hint=fill(kind.hint, agent.agent_id, origin=origin),
            text=fill(_text(kind.name), _value(kind, agent), origin=origin),
        )
        for kind in KINDS
    ]


def _value(kind: Snippet, agent: Agent) -> str:
    """Returns the agent's id. n8n reads a text that begins with `=` as an expression. So an id that
    begins with `=` becomes an expression that returns the id. The id's braces are escaped, because
    two braces would end the expression."""
    if kind.name != "n8n" or not agent.agent_id.startswith("="):
        return agent.agent_id
    text = json.dumps(agent.agent_id).replace("{", r"\u007b").replace("}", r"\u007d")
    return f"={{{{ {text} }}}}"


def fill(text: str, agent_id: str, *, origin: str) -> str:
    """Inserts the id as JSON text, which is also valid in Python, JavaScript and YAML, and harmless
    in a here-document. In single quotes, the inserted id is one word for a shell."""
    ids = {'"': json.dumps(agent_id, ensure_ascii=False), "'": shlex.quote(agent_id)}
    return EXAMPLES.sub(lambda match: ids.get(match[0][0], origin), text)


@cache
def _text(name: str) -> str:
    path = (
        settings.BASE_DIR
        / "templates"
        / "inbox"
        / "agents"
        / "connect"
        / "snippets"
        / f"{name}.txt"
    )
    text: str = path.read_text(encoding="utf-8")
    return text
