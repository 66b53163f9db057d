// Asks for new deliveries, and for rows that a colleague answers meanwhile. Shows the server's line
// about new deliveries, and strikes the answered rows through. Nothing else on the page moves or
// changes. The server's stream (live.js) says when to ask. The page also asks by itself. After a
// minute without any input, the page asks four times less often.
const SECONDS = 30;
const IN_USE_MS = 60_000;
const LIVE_AFTER_MS = 2000;

export default function updates(element, signal) {
  const interval = 1000 * (element.dataset.updatesSeconds ?? SECONDS);
  let usedAt = Date.now();
  let askedAt = Date.now();
  let timer = 0;
  let isAsking = false;
  let asksAgain = false;

  const schedule = () => {
    clearTimeout(timer);
    const isInUse = Date.now() - usedAt < IN_USE_MS;
    const due = askedAt + (isInUse ? interval : 4 * interval);
    timer = setTimeout(poll, Math.max(0, due - Date.now()));
  };
  // Asks one question at a time, because an older answer must not replace a newer one.
  const poll = async () => {
    asksAgain = isAsking;
    if (document.hidden || isAsking) return;
    isAsking = true;
    askedAt = Date.now();
    const nodes = await read(element.dataset.updates, signal);
    isAsking = false;
    if (signal.aborted) return;
    if (nodes) show(element, nodes);
    if (asksAgain) poll();
    else schedule();
  };
  const noteUse = () => { usedAt = Date.now(); };
  const onVisibilityChange = () => {
    if (document.hidden) clearTimeout(timer);
    else if (Date.now() - askedAt > interval) poll();
    else schedule();
  };
  for (const kind of ["pointerdown", "keydown", "scroll"]) {
    addEventListener(kind, noteUse, { signal, passive: true });
  }
  document.addEventListener("visibilitychange", onVisibilityChange, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  endHolds(signal);
  schedule();
  if (element.dataset.live) setTimeout(async () => (await import("./live.js")).default(element, signal, poll), LIVE_AFTER_MS);
}

function show(element, nodes) {
  const fragment = document.createDocumentFragment();
  fragment.append(...nodes);
  if (fragment.textContent === element.textContent) return; // a screen reader would read it again
  element.replaceChildren(fragment);
  for (const ending of element.querySelectorAll("[data-ended]")) {
    strike(document.getElementById(`row-${ending.dataset.ended}`), ending);
  }
}

// The row keeps its place and its height. The line about what happened replaces the buttons of the
// row.
function strike(row, ending) {
  if (!row || row.matches(".row--done")) return;
  row.classList.add("row--done");
  const box = row.querySelector("input[type=checkbox]");
  if (box?.checked) box.click();
  box?.closest("label").remove();
  const line = document.createElement("p");
  line.className = "row__held";
  line.append(...ending.childNodes);
  row.querySelector(".row__action, .row__held")?.replaceWith(line);
}

// Replaces "Goes to the agent in 8 s" once the hold is over.
function endHolds(signal) {
  for (const note of document.querySelectorAll("[data-hold-seconds]")) {
    const timer = setTimeout(() => { note.textContent = note.dataset.later; }, 1000 * note.dataset.holdSeconds);
    signal.addEventListener("abort", () => clearTimeout(timer));
  }
}

// XMLHttpRequest parses a page; Trusted Types would refuse to parse it from a string. Returns the nodes
// of the answer (none if nothing is new), or null after a failure or a redirect to the sign-in.
export function read(path, signal) {
  const url = new URL(path, location).href;
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.addEventListener("load", () => {
      const isAnswer = request.responseURL === url && request.status < 300;
      resolve(isAnswer ? request.response?.body.childNodes ?? [] : null);
    });
    request.addEventListener("error", () => resolve(null));
    request.addEventListener("abort", () => resolve(null));
    signal.addEventListener("abort", () => request.abort());
    request.open("GET", url);
    request.send();
  });
}

// Counts the selected rows, selects a range with Shift, and keeps the selection in the URL, so that a
// reload and the next page keep it.
export function selection(form, signal) {
  const line = form.querySelector("[data-count]");
  let last = null;

  const boxes = () => [...document.querySelectorAll('input[type=checkbox][name="id"]')];
  const selected = () => new FormData(form).getAll("id");
  const count = () => { line.textContent = `${selected().length} selected`; };
  document.addEventListener("click", (event) => {
    const all = boxes();
    const at = all.indexOf(event.target);
    if (at < 0) return;
    const from = all.indexOf(last);
    if (event.shiftKey && from >= 0) {
      for (const box of all.slice(Math.min(at, from), Math.max(at, from) + 1)) {
        box.checked = event.target.checked;
      }
    }
    last = event.target;
    count();
    keepInUrl(selected());
  }, { signal });
  const all = form.querySelector("[data-select-all]");
  all.hidden = false;
  all.addEventListener("click", () => {
    for (const box of boxes()) box.checked = true;
    count();
    keepInUrl(selected());
  }, { signal });
  count();
}

function keepInUrl(ids) {
  const withIds = (address) => {
    const url = new URL(address);
    url.searchParams.delete("id");
    for (const id of ids) url.searchParams.append("id", id);
    return url.href;
  };
  history.replaceState(null, "", withIds(location.href));
  for (const link of document.querySelectorAll(".section__older a")) link.href = withIds(link.href);
}
