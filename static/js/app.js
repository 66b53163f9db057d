// Attaches what data-module names to its element, and lets go of all of it when the page is left.
const modules = {
  copy: () => import("./copy.js"),
  draft: () => import("./draft.js"),
  "json-check": () => import("./json-check.js"),
  keys: () => import("./keys.js"),
  pulse: () => import("./pulse.js"),
  selection: () => import("./selection.js"),
  sending: () => import("./sending.js"),
  sent: () => import("./sent.js"),
  "show-password": () => import("./show-password.js"),
};
let visit;

async function attach() {
  visit = new AbortController();
  const { signal } = visit;
  const begin = async (element, name) => {
    const module = await modules[name]();
    if (!signal.aborted) module.default(element, signal);
  };
  const elements = [...document.querySelectorAll("[data-module]")];
  await Promise.all(elements.flatMap(
    (element) => element.dataset.module.split(" ").map((name) => begin(element, name)),
  ));
  document.documentElement.dataset.ready = "";
}

attach();
addEventListener("pagehide", () => visit.abort());
addEventListener("pageshow", (event) => event.persisted && attach());
