// Polls for new deliveries, and for rows that a colleague answers meanwhile. It shows the server's line
// about new ones and strikes the answered rows; no row, title or icon moves or changes otherwise. After
// a minute without any input, it polls four times less often.
const SECONDS = 30;
const IN_USE_MS = 60_000;

export default function updates(element, signal) {
  const interval = 1000 * (element.dataset.updatesSeconds ?? SECONDS);
  let usedAt = Date.now();
  let askedAt = Date.now();
  let timer = 0;

  const schedule = () => {
    clearTimeout(timer);
    const isInUse = Date.now() - usedAt < IN_USE_MS;
    const due = askedAt + (isInUse ? interval : 4 * interval);
    timer = setTimeout(poll, Math.max(0, due - Date.now()));
  };
  const poll = async () => {
    if (document.hidden) return;
    askedAt = Date.now();
    const nodes = await read(element.dataset.updates, signal);
    if (nodes) show(element, nodes);
    if (!signal.aborted) schedule();
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
}

function show(element, nodes) {
  element.replaceChildren(...nodes);
  for (const ending of element.querySelectorAll("[data-ended]")) {
    strike(document.getElementById(`row-${ending.dataset.ended}`), ending);
  }
}

// The row keeps its place and its height; its buttons give way to the line about what happened.
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
