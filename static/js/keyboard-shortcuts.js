// Each shortcut presses a control on the page, so no shortcut can do more than a button. A control
// names its key in aria-keyshortcuts, or in data-shortcut for "g" followed by another key.
const PAIR_MS = 1500;
const NEXT_ROW = "wake:next-row";
// On other layouts a key is recognised by its position: a person who types Greek finds "a" in its usual place.
const LATIN = /^[\x21-\x7e]$|^\p{Script=Latin}$/u;
const PLACES = { Slash: "/", "Shift+Slash": "?", Period: "." };

export default function keyboardShortcuts(body, signal) {
  let afterG = -Infinity;

  document.addEventListener("submit", keepPlace, { signal });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) sendArmed(event);
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") release(event.target);
      return;
    }
    if (!isEnabled()) return;

    const name = nameOf(event);
    const control = event.timeStamp - afterG < PAIR_MS
      ? document.querySelector(`[data-shortcut="g ${CSS.escape(name)}"]`)
      : controlOf(name);
    afterG = name === "g" ? event.timeStamp : -Infinity;
    if (control) press(control, event);
    else if (name === "e") edit(event);
    else if (name === "l") snooze(event);
    else if (name === "j" || name === "k") step(name === "j" ? 1 : -1, event);
    else if (name === "enter" && event.target.matches(".row")) press(controlOf("o"), event);
  }, { signal });
  restorePlace();
}

function isEnabled() {
  const { keyboard } = document.documentElement.dataset;
  if (keyboard === "focused") return Boolean(document.activeElement.closest(".row, .delivery"));
  return keyboard !== "off";
}

function isTyping(element) {
  return element.isContentEditable
    || element.matches("textarea, select, input:not([type=checkbox], [type=radio])");
}

function nameOf(event) {
  const isNamed = event.key.length > 1 || LATIN.test(event.key);
  const place = event.code.replace(/^Key/, "");
  const key = isNamed
    ? event.key
    : PLACES[`${event.shiftKey ? "Shift+" : ""}${place}`] ?? place;
  const isShifted = event.shiftKey && /^\p{L}$/u.test(key);
  return `${isShifted ? "shift+" : ""}${key.toLowerCase()}`;
}

// A control of a row is pressed only on the focused row, so that no answer goes to another delivery.
function controlOf(name) {
  const row = document.activeElement.closest(".row");
  const key = name.replace(/^shift\+x$/, "x");
  const found = [...document.querySelectorAll("[aria-keyshortcuts]")].filter((control) =>
    control.getAttribute("aria-keyshortcuts").toLowerCase().split(" ").includes(key)
      && control.checkVisibility() && !control.closest("[inert], :disabled"));
  const elsewhere = found.filter((control) => !control.closest(".row"));
  return found.find((control) => row?.contains(control)) ?? elsewhere.find(isTyping) ?? elsewhere[0];
}

function press(control, event) {
  if (!control) return;
  event.preventDefault();
  if (isTyping(control)) {
    control.focus();
    control.select?.();
  } else if (control.matches("[value=rejected]") && feedbackOf(control.form)) {
    arm(control);
  } else {
    control.dispatchEvent(new MouseEvent("click", {
      bubbles: true, cancelable: true, shiftKey: event.shiftKey,
    }));
    if (control.matches("summary")) control.focus();
  }
}

// Opens the editor of the focused row.
function edit(event) {
  const link = document.activeElement.closest(".row")?.querySelector('a[aria-keyshortcuts~="r"]');
  if (!link) return;
  event.preventDefault();
  location.assign(new URL("edit", link.href));
}

// Snooze acts on the selected rows; if none is selected, this selects the focused row.
function snooze(event) {
  document.activeElement.closest(".row")?.querySelector('[aria-keyshortcuts="x"]')?.click();
  press(controlOf("l"), event);
}

// A rejection is better with a reason, so its shortcut only moves to the feedback field.
function arm(button) {
  const field = feedbackOf(button.form);
  for (const other of button.form.querySelectorAll("[data-armed]")) delete other.dataset.armed;
  button.dataset.armed = "";
  field.focus();
}

function feedbackOf(form) {
  return form?.querySelector("textarea[name=feedback]");
}

function sendArmed(event) {
  const { form } = event.target;
  const button = form?.querySelector("[data-armed]")
    ?? form?.querySelector('button[aria-keyshortcuts~="Control+Enter"]');
  if (!button) return;
  event.preventDefault();
  button.click();
}

function release(field) {
  for (const armed of field.form?.querySelectorAll("[data-armed]") ?? []) delete armed.dataset.armed;
  field.blur();
}

function rows() {
  return [...document.querySelectorAll(".row[tabindex]")].filter((row) => row.checkVisibility());
}

function step(by, event) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest(".row"));
  const next = all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

// An answered row is gone from the next page, so the focus moves to the row after it; after an undo it
// moves to the row that came back.
function keepPlace(event) {
  const button = event.submitter ?? event.target;
  const row = button.closest(".row");
  const all = rows();
  const next = row && (all[all.indexOf(row) + 1] ?? all[all.indexOf(row) - 1]);
  const undone = event.target.action.match(/\/deliveries\/([^/]+)\/undo$/)?.[1]
    ?? (event.target.action.endsWith("/acknowledgements/undo") && button.value.split(",")[0]);
  const id = next?.id ?? (undone && `row-${undone}`);
  if (id) sessionStorage.setItem(NEXT_ROW, id);
}

function restorePlace() {
  const row = document.getElementById(sessionStorage.getItem(NEXT_ROW) ?? "");
  if (rows().length) sessionStorage.removeItem(NEXT_ROW);
  if (row && document.activeElement === document.body) row.focus();
}
