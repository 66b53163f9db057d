// Lets the browser sign a challenge with a passkey, or make a new passkey. Sends the result with
// the form. The form is hidden until this runs. The e-mail field suggests passkeys. This suggestion
// is renewed before its challenge expires. The suggestion is also renewed when the page is shown
// again, because another tab may have asked for a challenge.
const RENEW_MS = 240_000;
const WORDS = {
  AbortError: "",
  InvalidStateError: "This device already has a passkey of yours for this server.",
  NotAllowedError: "No passkey was used: you canceled, it took too long, or this device has none for this server.",
  SecurityError: "This browser can't use passkeys at this address.",
};

export default function passkey(form, signal) {
  if (!window.PublicKeyCredential) {
    form.parentElement.querySelector("[data-unsupported]").hidden = false;
    return;
  }
  let waiting;
  let isPrompting = false;
  const ask = async (mediation) => {
    waiting?.abort();
    waiting = new AbortController();
    const { signal: stop } = waiting;
    const publicKey = await offered(form, stop);
    if (!publicKey) return;
    const credential = "creates" in form.dataset
      ? await navigator.credentials.create({ publicKey, signal: stop })
      : await navigator.credentials.get({ publicKey, mediation, signal: stop });
    form.elements.credential.value = JSON.stringify(asText(credential));
    form.dataset.signed = "";
    form.requestSubmit();
  };
  const suggest = async () => {
    if (document.hidden || isPrompting || !await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
    ask("conditional").catch(() => {}); // the button then explains the problem
  };

  form.hidden = false;
  delete form.dataset.signed; // a page that the browser had kept in memory
  form.addEventListener("submit", (event) => {
    if ("signed" in form.dataset) return;
    event.preventDefault();
    event.stopPropagation();
    say(form, "");
    isPrompting = true;
    ask().catch((error) => {
      say(form, WORDS[error.name] ?? "That didn't work. Try again.");
    }).finally(() => { isPrompting = false; });
  }, { signal });
  signal.addEventListener("abort", () => waiting?.abort());
  if (!("autofills" in form.dataset)) return;
  const timer = setInterval(suggest, RENEW_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  document.addEventListener("visibilitychange", suggest, { signal });
  suggest();
}

// Asks the server what to sign. A server that redirects to another page wants the password first.
async function offered(form, signal) {
  const answer = await fetch(form.dataset.options, {
    method: "POST",
    headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: new FormData(form), // the challenge covers the content of the answer
    signal,
  });
  if (answer.redirected) {
    location.reload();
    return undefined;
  }
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
  const options = await answer.json();
  options.challenge = asBytes(options.challenge);
  if (options.user) options.user.id = asBytes(options.user.id);
  for (const list of [options.allowCredentials, options.excludeCredentials]) {
    for (const each of list ?? []) each.id = asBytes(each.id);
  }
  return options;
}

// Does not use credential.toJSON(), which browsers began to support years after passkeys.
function asText({ id, rawId, type, response }) {
  const bytes = Object.fromEntries(
    ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]
      .filter((name) => response[name])
      .map((name) => [name, asBase64Url(response[name])]),
  );
  return {
    id, rawId: asBase64Url(rawId), type,
    response: { ...bytes, transports: response.getTransports?.() },
  };
}

function asBytes(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function asBase64Url(buffer) {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function say(form, words) {
  const note = form.querySelector("[role=alert]");
  note.textContent = words;
  note.hidden = !words;
}
