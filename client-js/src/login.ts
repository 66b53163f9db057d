/** Implements `npx wake-client login`, which stores the server and the key of an agent. */

import { spawn } from "node:child_process";
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { type Access, type Code, type SignInOptions, signIn } from "./device-flow.js";
import { readLogins, storeLogin, type Variables } from "./logins.js";

const USAGE = `\
usage: wake-client login URL [--agent ID] [--no-browser] [--json]

Signs this machine in at a Wake server: a person approves it in the browser, and the key is stored
in $XDG_CONFIG_HOME/wake/agents.json, which only you can read. The last login is the default agent.

  --agent ID     the agent that is proposed; the person may choose another one
  --no-browser   print the address, and open no browser
  --json         print the result as JSON

exit status: 0 signed in, 1 no key was issued, 2 wrong arguments, 130 stopped by Ctrl-C
`;

/** Describes where the program runs. A test passes its own. */
export interface Terminal {
  machine: string;
  isWatched: boolean;
  print(text: string): void;
  say(text: string): void;
  open(link: string): void;
}

type SignIn = (options: SignInOptions) => Promise<Access>;

/** Runs the command, and returns its exit status. */
export async function main(
  words: string[],
  variables: Variables,
  terminal: Terminal = thisTerminal,
  sign: SignIn = signIn,
): Promise<number> {
  try {
    const { values, positionals } = readArguments(words);
    if (values.help) {
      terminal.print(USAGE);
      return 0;
    }
    const [command, endpoint, ...rest] = positionals;
    if (command !== "login" || !endpoint || rest.length > 0) {
      terminal.say(USAGE);
      return 2;
    }
    await readLogins(variables); // a damaged file is noticed before a key is issued
    const opens = terminal.isWatched && !values["no-browser"] && hasScreen(variables);
    const access = await sign({
      endpoint,
      machine: terminal.machine,
      agentId: values.agent ?? variables["WAKE_AGENT_ID"],
      announce: (code) => announce(code, opens, terminal),
    });
    const file = await storeLogin(access, variables);
    const facts = { agent_id: access.agentId, endpoint: access.endpoint, file };
    const text = `${access.agentId} is logged in at ${access.endpoint} (${file})`;
    terminal.print(values.json ? `${JSON.stringify(facts)}\n` : `${visible(text)}\n`);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    terminal.say(`wake-client: ${visible(message)}\n`);
    return error instanceof TypeError ? 2 : 1;
  }
}

function readArguments(words: string[]) {
  return parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      agent: { type: "string" },
      "no-browser": { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
}

function announce(code: Code, opens: boolean, terminal: Terminal): void {
  terminal.say(`Your code: ${visible(code.text)}\n`);
  if (opens) terminal.open(code.link);
  terminal.say(`Open ${visible(code.link)} and check the code there,\n`);
  terminal.say(`or open ${visible(code.address)} in any browser, and type it.\n`);
}

/** Returns whether a browser that this process opens is on the screen of the person. */
export function hasScreen(variables: Variables, platform: string = process.platform): boolean {
  if (variables["SSH_CONNECTION"]) return false;
  if (platform === "darwin" || platform === "win32") return true;
  return Boolean(variables["DISPLAY"] || variables["WAYLAND_DISPLAY"]);
}

/** Returns the text with the name of each character that a terminal acts on in its place. */
function visible(text: string): string {
  const name = (character: string): string =>
    `⟨U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, name);
}

const OPENERS: Record<string, string[]> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

const thisTerminal: Terminal = {
  machine: hostname(),
  isWatched: Boolean(process.stderr.isTTY),
  print: (text) => {
    process.stdout.write(text);
  },
  say: (text) => {
    process.stderr.write(text);
  },
  open: (link) => {
    const [program = "", ...words] = OPENERS[process.platform] ?? ["xdg-open"];
    // Without a browser, the person opens the address that is printed.
    spawn(program, [...words, link], { detached: true, stdio: "ignore" })
      .on("error", () => {})
      .unref();
  },
};
