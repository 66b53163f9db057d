// Asks for new deliveries, and for rows that a colleague answers meanwhile. It shows the server's line
// about new ones and strikes the answered rows; no row, title or icon moves or changes otherwise. The
// server's stream says when to ask. Without it, and from time to time with it, the page asks by itself;
// after a minute without any input four times less often.
const SECONDS = 30;
const IN_USE_MS = 60_000;
const LISTEN_AFTER_MS = 2000;
const LISTEN_AGAIN_MS = 300_000;

export default function updates(element, signal) {
  const interval = 1000 * (element.dataset.updatesSeconds ?? SECONDS);
  let usedAt = Date.now();
  let askedAt = Date.now();
  let timer = 0;
  let isAsking = false;
  let asksAgain = false;
  let stream;
  let listenedAt = Date.now();
  let listenTimer = 0;

  const schedule = () => {
    clearTimeout(timer);
    const isInUse = Date.now() - usedAt < IN_USE_MS;
    const isTold = stream?.readyState === EventSource.OPEN;
    const due = askedAt + (isInUse && !isTold ? interval : 4 * interval);
    timer = setTimeout(poll, Math.max(0, due - Date.now()));
  };
  // One question at a time: an older answer must not replace a newer one.
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
    if (!stream && Date.now() - listenedAt > LISTEN_AGAIN_MS) listen();
  };
  // Only a page in sight has a stream, and only if it stays there: a browser opens few to one server.
  const listen = () => {
    listenedAt = Date.now();
    if (!element.dataset.live || document.hidden || signal.aborted || stream) return;
    const since = new URL(element.dataset.updates, location).search;
    stream = new EventSource(`${element.dataset.live}${since}`);
    stream.addEventListener("message", poll);
    stream.addEventListener("error", () => {
      if (stream?.readyState === EventSource.CLOSED) stopListening();
    });
  };
  const stopListening = () => {
    clearTimeout(listenTimer);
    stream?.close();
    stream = undefined;
  };
  const listenSoon = () => {
    clearTimeout(listenTimer);
    listenTimer = setTimeout(listen, LISTEN_AFTER_MS);
  };
  const noteUse = () => { usedAt = Date.now(); };
  const onVisibilityChange = () => {
    if (document.hidden) {
      clearTimeout(timer);
      stopListening();
      return;
    }
    listenSoon();
    if (Date.now() - askedAt > interval) poll();
    else schedule();
  };
  for (const kind of ["pointerdown", "keydown", "scroll"]) {
    addEventListener(kind, noteUse, { signal, passive: true });
  }
  document.addEventListener("visibilitychange", onVisibilityChange, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    stopListening();
  });
  endHolds(signal);
  schedule();
  listenSoon();
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
