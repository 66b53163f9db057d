// Shows the changes while you type, with the comparison and the errors of the server.
const WAIT_MS = 500;

export default function liveChanges(section, signal) {
  const form = section.closest("form");
  const button = form.querySelector('button[name=view][value=preview]');
  let request = null;
  let timer = 0;

  const preview = () => {
    request?.abort();
    const data = new FormData(form);
    data.append(button.name, button.value);
    request = post(button.formAction, data, (page) => {
      const changes = page.querySelector('[data-module="live-changes"]');
      if (!changes) return;
      section.replaceChildren(...changes.childNodes);
      showErrors(form, page);
    });
  };
  button.hidden = true;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(preview, WAIT_MS);
  }, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    request?.abort();
  });
}

function showErrors(form, page) {
  for (const note of form.querySelectorAll(".field__error")) {
    note.textContent = page.getElementById(note.id)?.textContent.trim() ?? "";
    const input = form.querySelector(`[aria-describedby~="${note.id}"]`);
    input?.setAttribute("aria-invalid", String(Boolean(note.textContent)));
  }
}

// XMLHttpRequest parses a page; Trusted Types would refuse to parse it from a string. A redirect to the
// sign-in is no answer.
function post(url, data, use) {
  const request = new XMLHttpRequest();
  request.responseType = "document";
  request.addEventListener("load", () => {
    if (request.responseURL === url && request.response) use(request.response);
  });
  request.open("POST", url);
  request.send(data);
  return request;
}
