// Sends each form once, and shows "Sending…" if that takes a moment. A form with text is not sent while
// the server cannot be reached: the browser's error page would replace the text.
const SHOW_AFTER_MS = 400;
const TIMEOUT_MS = 8000;
const NOT_SENT = "Not sent: the connection dropped. Your text is still here. Send it again.";

export default function submitOnce(body, signal) {
  const sending = new Map();

  const release = (form) => {
    sending.get(form)?.();
    sending.delete(form);
  };
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.reached !== undefined) {
      delete form.dataset.reached;
      return;
    }
    if (sending.has(form)) {
      event.preventDefault();
      return;
    }
    sending.set(form, showSending(submitter));
    setTimeout(release, TIMEOUT_MS, form);
    form.querySelector(".not-sent")?.remove();
    if (!form.querySelector("textarea")) return;

    event.preventDefault();
    isReachable().then((reached) => {
      if (reached) {
        form.dataset.reached = "";
        form.requestSubmit(submitter);
      } else {
        release(form);
        explain(form, submitter);
      }
    });
  }, { signal });
  signal.addEventListener("abort", () => [...sending.keys()].forEach(release));
}

// Keeps the size of the button; returns a function that restores its label.
function showSending(button) {
  if (!button) return () => {};
  const label = [...button.childNodes];
  const timer = setTimeout(() => {
    button.style.inlineSize = `${button.offsetWidth}px`;
    button.setAttribute("aria-busy", "true");
    button.replaceChildren("Sending…");
  }, SHOW_AFTER_MS);
  return () => {
    clearTimeout(timer);
    button.style.inlineSize = "";
    button.removeAttribute("aria-busy");
    button.replaceChildren(...label);
  };
}

async function isReachable() {
  try {
    await fetch("/healthz", {
      method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return true;
  } catch {
    return false;
  }
}

// Next to the button, where the person is looking.
function explain(form, button) {
  const note = document.createElement("p");
  note.className = "errors not-sent";
  note.setAttribute("role", "alert");
  note.textContent = NOT_SENT;
  (button?.closest(".actions") ?? form.firstElementChild).before(note);
  note.scrollIntoView({ block: "nearest" });
}
