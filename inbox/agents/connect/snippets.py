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


CODING_AGENTS, CHATS, PROGRAMS = "Coding agents", "Chat apps", "Your own program"
PYTHON, JAVASCRIPT, WORKFLOWS = "Python frameworks", "JavaScript frameworks", "Workflows"
PROTOCOL = "docs/protocol.md"
SIGN_IN_INSTEAD = (
    "\nTo sign in instead, leave out the key and use the address "
    "https://wake.example.com/mcp/people."
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Shows a text to copy. `hint` says how to use the text, in one or more lines, and may also
    contain EXAMPLES. The text comes from templates/inbox/agents/connect/snippets/`name`.txt.
    `guide` is the file of this repository that explains more. A client that `signs_in` needs no
    key, and its text is the address to sign in at."""

    name: str
    title: str
    hint: str
    group: str
    guide: str = "docs/connect.md"
    text: str = ""
    signs_in: bool = False

    @property
    def hint_lines(self) -> list[str]:
        return self.hint.split("\n")

    @property
    def guide_address(self) -> str:
        """Returns the address of the guide on the documentation site."""
        path = self.guide.removeprefix("docs/").removesuffix(".md").removesuffix("/README")
        return f"/docs/{path}/"


def _python_adapter(name: str, title: str, *, yours: str) -> Snippet:
    """Describes the adapter of a framework. `yours` names what the reader's program has."""
    hint = f'Install "./client[{name}]" from a checkout of Wake with pip. You provide {yours}.'
    return Snippet(name, title, hint, PYTHON, f"docs/adapters/{name}.md")


def _javascript_adapter(name: str, title: str, *, yours: str) -> Snippet:
    hint = f"Install the TypeScript client first. You provide {yours}."
    return Snippet(name, title, hint, JAVASCRIPT, f"docs/adapters/{name}.md")


KINDS = (
    Snippet(
        "mcp-claude-code",
        "Claude Code",
        "Run this in a terminal where WAKE_API_KEY is set. Claude Code can then deliver, ask and "
        "read answers." + SIGN_IN_INSTEAD,
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-codex",
        "Codex CLI",
        "Add it to ~/.codex/config.toml, and start Codex where WAKE_API_KEY is set."
        + SIGN_IN_INSTEAD,
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-cursor",
        "Cursor",
        "Save it as .cursor/mcp.json in a project, and start Cursor where WAKE_API_KEY is set."
        + SIGN_IN_INSTEAD,
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-vscode",
        "VS Code",
        "Save it as .vscode/mcp.json in a project. VS Code asks for the key and keeps it."
        + SIGN_IN_INSTEAD,
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-gemini",
        "Gemini CLI",
        "Add it to ~/.gemini/settings.json, and start Gemini CLI where WAKE_API_KEY is set."
        + SIGN_IN_INSTEAD,
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
        "acp",
        "Editors (ACP)",
        "People answer the permission requests of an editor's agent here or in the editor. Install "
        "wake-client, run wake login --endpoint https://wake.example.com --agent "
        "'research-agent-01' once, and add this to the settings.json of Zed.",
        CODING_AGENTS,
        "docs/acp.md",
    ),
    Snippet(
        "claude-code",
        "Claude Code, as a skill",
        "Save it as .claude/skills/wake/SKILL.md in a project, and set WAKE_API_KEY before you "
        "start Claude Code. It asks before it runs curl for the first time.",
        CODING_AGENTS,
    ),
    Snippet(
        "mcp-claude",
        "Claude",
        "On the web or in the desktop app, open Customize, Connectors. Add a custom connector with "
        "this address.\n"
        'Select Connect, sign in to Wake, and choose the agent "research-agent-01".\n'
        "Anthropic's servers call this address, so it must be public and use https.",
        CHATS,
        signs_in=True,
    ),
    Snippet(
        "mcp-chatgpt",
        "ChatGPT",
        "On the web, open Plugins. Add a custom MCP server with this address, and create it as a "
        "plugin.\n"
        'Sign in to Wake, and choose the agent "research-agent-01".\n'
        "OpenAI's servers call this address, so it must be public and use https.",
        CHATS,
        signs_in=True,
    ),
    Snippet(
        "mcp-claude-desktop",
        "Claude Desktop, with a key",
        "Install wake-client (pip install ./client from a checkout of Wake), run wake login "
        "--endpoint https://wake.example.com --agent 'research-agent-01' once, and add this to "
        "claude_desktop_config.json.",
        CHATS,
    ),
    Snippet(
        "wake-client",
        "Python client",
        "Install it from a checkout of Wake: pip install ./client (Python 3.11 or later). It "
        "retries and never delivers twice.",
        PROGRAMS,
        "client/README.md",
    ),
    Snippet(
        "wake-client-js",
        "TypeScript client",
        "Run npm ci and npm pack in client-js of a checkout of Wake, and install the tarball with "
        "npm. It needs Node 20.19 or later, Deno, Bun or an edge runtime.",
        PROGRAMS,
        "client-js/README.md",
    ),
    Snippet(
        "curl", "curl", "Run this in a terminal where WAKE_API_KEY is set.", PROGRAMS, PROTOCOL
    ),
    Snippet(
        "python",
        "Python, no packages",
        "Save it as wake_inbox.py and import it, or run it to ask a sample question. It uses only "
        "the standard library.",
        PROGRAMS,
        PROTOCOL,
    ),
    Snippet(
        "node",
        "Node, no packages",
        "Save it as wake.mjs and import it, or run it to ask a sample question. It needs Node 18 "
        "or later and no packages.",
        PROGRAMS,
        PROTOCOL,
    ),
    Snippet(
        "system-prompt",
        "System prompt",
        "For any agent that can make HTTP requests. It follows the template in the specification.",
        PROGRAMS,
        PROTOCOL,
    ),
    _python_adapter("langgraph", "LangGraph", yours="model, refund and checkpointer"),
    _python_adapter("pydantic-ai", "Pydantic AI", yours="model and the tool"),
    _python_adapter("openai-agents", "OpenAI Agents SDK", yours="model and the tool"),
    _python_adapter("claude-agent", "Claude Agent SDK", yours="the MCP server shop and the folder"),
    _python_adapter("crewai", "CrewAI", yours="model and make_refund"),
    _python_adapter("google-adk", "Google ADK", yours="model, refund, session_service and message"),
    _javascript_adapter("ai-sdk", "AI SDK", yours="model and refund"),
    _javascript_adapter(
        "langgraph-js",
        "LangGraph",
        yours="model, refund with its description and schema, and checkpointer",
    ),
    _javascript_adapter(
        "openai-agents-js", "OpenAI Agents SDK", yours="model and the options of the tool"
    ),
    _javascript_adapter(
        "mastra", "Mastra", yours="model, instructions, storage and the options of the tool"
    ),
    Snippet(
        "by-url",
        "Trigger.dev, Vercel",
        "The answer resumes a run that waits for a request to its URL, also in other services. An "
        "owner allows the host of the URL under Settings, Callback hosts.",
        WORKFLOWS,
        "docs/by-url.md",
    ),
    Snippet(
        "n8n",
        "n8n",
        "Paste it into an empty workflow, then choose a Bearer Auth credential with the key in "
        "both HTTP nodes.",
        WORKFLOWS,
        "docs/by-url.md",
    ),
)


def chosen_snippet(snippets: list[Snippet], name: str) -> Snippet:
    """Returns the snippet with this name, or the first one if there is no such name."""
    return next((snippet for snippet in snippets if snippet.name == name), snippets[0])


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
