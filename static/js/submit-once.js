// A form is sent once, and says so when that takes a moment. Words that somebody wrote do not leave
// for a server that cannot be reached: the browser would put its own page in their place.
const SOON_MS = 400;
const PATIENCE_MS = 8000;
const NOT_SENT = "Not sent: the connection dropped. Your words are kept here.";

export default function sending(body, signal) {
  const onTheWay = new Map();

  const letGo = (form) => {
    onTheWay.get(form)?.();
    onTheWay.delete(form);
  };
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.reached !== undefined) {
      delete form.dataset.reached;
      return;
    }
    if (onTheWay.has(form)) {
      event.preventDefault();
      return;
    }
    onTheWay.set(form, say(submitter));
    setTimeout(letGo, PATIENCE_MS, form);
    form.querySelector(".not-sent")?.remove();
    if (!form.querySelector("textarea")) return;

    event.preventDefault();
    isReachable().then((reached) => {
      if (reached) {
        form.dataset.reached = "";
        form.requestSubmit(submitter);
      } else {
        letGo(form);
        explain(form, submitter);
      }
    });
  }, { signal });
  signal.addEventListener("abort", () => [...onTheWay.keys()].forEach(letGo));
}

// The button keeps its size, and gets its words back from what is returned.
function say(button) {
  if (!button) return () => {};
  const words = [...button.childNodes];
  const timer = setTimeout(() => {
    button.style.inlineSize = `${button.offsetWidth}px`;
    button.setAttribute("aria-busy", "true");
    button.replaceChildren("Sending…");
  }, SOON_MS);
  return () => {
    clearTimeout(timer);
    button.style.inlineSize = "";
    button.removeAttribute("aria-busy");
    button.replaceChildren(...words);
  };
}

async function isReachable() {
  try {
    await fetch("/healthz", {
      method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return true;
  } catch {
    return false;
  }
}

// Beside the button, where the person looks.
function explain(form, button) {
  const note = document.createElement("p");
  note.className = "errors not-sent";
  note.setAttribute("role", "alert");
  note.textContent = NOT_SENT;
  (button?.closest(".actions") ?? form.firstElementChild).before(note);
  note.scrollIntoView({ block: "nearest" });
}
