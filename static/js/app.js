// Starts the modules named in data-module, and stops all of them when the page is left.
const modules = {
  consent: () => import("./consent.js"),
  copy: () => import("./copy.js"),
  "discard-draft": () => import("./discard-draft.js"),
  draft: () => import("./draft.js"),
  "first-moment": () => ({ default: firstMoment }),
  "keyboard-shortcuts": () => import("./keyboard-shortcuts.js"),
  "live-changes": () => import("./live-changes.js"),
  menu: () => import("./answer-bar.js"),
  "offline-page": () => import("./offline-page.js"),
  passkey: () => import("./passkey.js"),
  selection: async () => ({ default: (await import("./updates.js")).selection }),
  "show-password": () => import("./show-password.js"),
  "submit-once": () => import("./submit-once.js"),
  "time-left": () => ({ default: timeLeft }),
  "time-zone": () => import("./time-zone.js"),
  updates: () => import("./updates.js"),
  "updates-later": () => later,
  "web-push": () => import("./web-push.js"),
};
const LATER_MS = 2000;
// People often leave this page at once, so the modules that keep it up to date are loaded only if
// it stays open.
const later = {
  default: (element, signal) => setTimeout(async () => {
    const module = await modules.updates();
    if (!signal.aborted) module.default(element, signal);
  }, LATER_MS),
};
let visit;
// Keeps keys that are pressed before the shortcuts are loaded, which happens last on a first visit.
let early = [];
addEventListener("keydown", (event) => early?.push(event));

async function attach() {
  visit = new AbortController();
  const { signal } = visit;
  const start = async (element, name) => {
    const module = await modules[name]();
    if (!signal.aborted) module.default(element, signal);
  };
  const elements = [...document.querySelectorAll("[data-module]")];
  await Promise.all(elements.flatMap(
    (element) => element.dataset.module.split(" ").map((name) => start(element, name)),
  ));
  document.documentElement.dataset.ready = "";
  early?.filter((event) => event.target === document.body && !event.defaultPrevented)
    .forEach((event) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", event)));
  early = null;
}

// A second press or click may come a moment after the page has changed under it. No person has read
// the page by then, so the buttons that answer cannot be pressed yet. The button of a rejection can
// be pressed, because its key only moves the focus to the message. Otherwise the letters of the
// message would count as keys. Without JavaScript answering.css does the same for the mouse.
const FIRST_MOMENT_MS = 800;
const ANSWERS = ":is(button[name=status], button[data-answers]):enabled:not([value=rejected])";

function firstMoment(element, signal) {
  const answers = [...element.querySelectorAll(ANSWERS)];
  const allow = () => answers.forEach((button) => { button.disabled = false; });
  const whenSeen = () => !document.hidden && setTimeout(allow, FIRST_MOMENT_MS);
  answers.forEach((button) => { button.disabled = true; });
  document.addEventListener("visibilitychange", whenSeen, { signal });
  signal.addEventListener("abort", allow);
  whenSeen();
}

// Keeps "in 25 min" true while the page is open, in the words of the server (pages/times.py).
const TIME_EVERY_MS = 15_000;

function timeLeft(element, signal) {
  const timer = setInterval(() => {
    element.textContent = words(Math.round((new Date(element.dataset.ends) - Date.now()) / 1000));
  }, TIME_EVERY_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function words(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds <= 0) return "now";
  if (seconds < 60) return `in ${seconds} s`;
  if (minutes < 60) return `in ${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `in ${Math.round(hours / 24)} days`;
  return minutes % 60 ? `in ${hours} h ${minutes % 60} min` : `in ${hours} h`;
}

attach();
addEventListener("pagehide", () => visit.abort());
addEventListener("pageshow", (event) => event.persisted && attach());
