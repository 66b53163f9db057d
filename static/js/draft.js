// Keeps what you type on this device until the server has the answer (discard-draft.js), so that a lost
// connection or a new sign-in costs no text. Drafts are kept per person, for shared devices.
const WAIT_MS = 300;
const DAY_MS = 24 * 60 * 60 * 1000;
const KEPT_DAYS = 14;

export default function draft(form, signal) {
  const prefix = `draft:${document.documentElement.dataset.person}:${form.dataset.draft}:`;
  const changed = new Set();
  let timer = 0;

  const keep = () => {
    clearTimeout(timer);
    for (const name of changed) store(prefix + name, fieldsOf(form).get(name));
    changed.clear();
  };
  forgetOld();
  const url = new URL(location);
  if (url.searchParams.get("from") === "original") {
    forget(prefix);
    // The server still shows the original; a reload restores what is typed from here on.
    url.searchParams.set("from", "reset");
    history.replaceState(null, "", url);
  }
  // A page that answers this form already has the text, maybe with a saved reply below it.
  if (!("answered" in form.dataset)) restore(form, prefix);
  // Listens on the document, because the options are outside their form.
  document.addEventListener("input", (event) => {
    if (event.target.form !== form) return;
    changed.add(event.target.name);
    clearTimeout(timer);
    timer = setTimeout(keep, WAIT_MS);
  }, { signal });
  signal.addEventListener("abort", keep);
}

// Radio buttons with one name are one field.
function fieldsOf(form) {
  const typed = [...form.elements].filter((field) => field.name
    && field.matches("textarea, select, input:not([type=hidden], [type=checkbox], [type=file])"));
  return new Map(typed.map(({ name }) => [name, form.elements[name]]));
}

function givenOf(field) {
  if (field.options) return [...field.options].find((option) => option.defaultSelected)?.value;
  return field.defaultValue ?? [...field].find((choice) => choice.defaultChecked)?.value;
}

function store(key, field) {
  if (!field) return;
  if (field.value === givenOf(field)) localStorage.removeItem(key);
  else localStorage.setItem(key, JSON.stringify({ value: field.value, at: Date.now() }));
}

function restore(form, prefix) {
  const times = [];
  for (const [name, field] of fieldsOf(form)) {
    const { value, at } = read(prefix + name);
    const given = givenOf(field) ?? "";
    if (value === undefined || value === given) continue;
    field.value = value;
    times.push(at);
  }
  if (times.length) tell(form, prefix, Math.max(...times));
}

function tell(form, prefix, at) {
  const clock = new Intl.DateTimeFormat(undefined, {
    hour: "2-digit", minute: "2-digit", hourCycle: "h23",
    timeZone: document.documentElement.dataset.timeZone,
    ...(Date.now() - at > DAY_MS && { day: "numeric", month: "short" }),
  });
  const note = document.createElement("p");
  const undo = document.createElement("button");
  note.className = "quiet";
  note.setAttribute("role", "status");
  undo.type = "button";
  undo.className = "button button--quiet";
  undo.textContent = "Discard";
  undo.addEventListener("click", () => {
    forget(prefix);
    form.reset();
    note.remove();
  });
  note.append(`Restored what you typed at ${clock.format(at)}. `, undo);
  form.prepend(note);
}

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function forget(prefix) {
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
}

function forgetOld() {
  for (const key of Object.keys(localStorage)) {
    const isOld = !(read(key).at > Date.now() - KEPT_DAYS * DAY_MS);
    if (key.startsWith("draft:") && isOld) localStorage.removeItem(key);
  }
}
