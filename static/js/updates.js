// Asks now and then whether more has come, and shows the server's line about it. No row moves, and
// neither the title nor the icon of the page changes. Four times as seldom where nobody has touched
// the page for a minute.
const SECONDS = 30;
const IN_USE_MS = 60_000;

export default function pulse(place, signal) {
  const often = 1000 * (place.dataset.pulseSeconds ?? SECONDS);
  let used = Date.now();
  let asked = Date.now();
  let timer = 0;

  const wait = () => {
    clearTimeout(timer);
    const isInUse = Date.now() - used < IN_USE_MS;
    const due = asked + (isInUse ? often : 4 * often);
    timer = setTimeout(ask, Math.max(0, due - Date.now()));
  };
  const ask = async () => {
    if (document.hidden) return;
    asked = Date.now();
    const found = await read(place.dataset.pulse, signal);
    if (found) place.replaceChildren(...found);
    if (!signal.aborted) wait();
  };
  const use = () => { used = Date.now(); };
  const turn = () => {
    if (document.hidden) clearTimeout(timer);
    else if (Date.now() - asked > often) ask();
    else wait();
  };
  for (const kind of ["pointerdown", "keydown", "scroll"]) {
    addEventListener(kind, use, { signal, passive: true });
  }
  document.addEventListener("visibilitychange", turn, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  wait();
}

// XMLHttpRequest reads a page without writing markup anywhere, which Trusted Types would refuse.
// Nothing new is an empty line; a failure, or the way to the sign-in, is none.
function read(path, signal) {
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
