// Starts the modules named in data-module, and stops all of them when the page is left.
const modules = {
  copy: () => import("./copy.js"),
  "discard-draft": () => import("./discard-draft.js"),
  draft: () => import("./draft.js"),
  "keyboard-shortcuts": () => import("./keyboard-shortcuts.js"),
  "live-changes": () => import("./live-changes.js"),
  menu: () => import("./menu.js"),
  "offline-page": () => import("./offline-page.js"),
  selection: () => import("./selection.js"),
  "show-password": () => import("./show-password.js"),
  "submit-once": () => import("./submit-once.js"),
  "time-left": () => import("./time-left.js"),
  "time-zone": () => import("./time-zone.js"),
  updates: () => import("./updates.js"),
};
let visit;

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
}

attach();
addEventListener("pagehide", () => visit.abort());
addEventListener("pageshow", (event) => event.persisted && attach());
