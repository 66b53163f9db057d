// Listens to the server's stream, which tells a visible page to ask what is new. Without a stream,
// the page asks by itself (updates.js) and tries again later.
const AGAIN_MS = 300_000;

export default function live(element, signal, ask) {
  const since = new URL(element.dataset.updates, location).search;
  let stream;
  let timer = 0;

  const close = () => {
    clearTimeout(timer);
    stream?.close();
    stream = undefined;
  };
  const open = () => {
    close();
    if (document.hidden || signal.aborted) return;
    stream = new EventSource(`${element.dataset.live}${since}`);
    stream.addEventListener("message", ask);
    stream.addEventListener("error", () => {
      if (stream?.readyState !== EventSource.CLOSED) return;
      close();
      timer = setTimeout(open, AGAIN_MS);
    });
  };
  document.addEventListener("visibilitychange", open, { signal });
  signal.addEventListener("abort", close);
  open();
}
