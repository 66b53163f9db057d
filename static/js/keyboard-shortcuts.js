// Each shortcut presses a control on the page, so no shortcut can do more than a button. A control
// names its key in aria-keyshortcuts, or in data-shortcut for "g" followed by another key.
const PAIR_MS = 1500;
// A delivery in a list, or in a review of several.
const ROW = ".row, .batch__item";
const PLACE = "wake:place";
// On other layouts a key is recognised by its position: a person who types Greek finds "a" in its usual place.
const LATIN = /^[\x21-\x7e]$|^\p{Script=Latin}$/u;
const PLACES = { Slash: "/", "Shift+Slash": "?", Period: "." };

export default function keyboardShortcuts(body, signal) {
  let afterG = -Infinity;
  let opening = null;

  document.addEventListener("submit", keepPlace, { signal });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) sendArmed(event);
    if (opening) keepTyped(opening, event);
    else if (isPaletteKey(event)) opening = openPalette(event, signal, () => { opening = null; });
    if (event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("dialog")) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") release(event.target);
      return;
    }
    if (!isEnabled()) return;

    const name = nameOf(event);
    // A key that is held down moves on from row to row, but answers once.
    if (event.repeat && name !== "j" && name !== "k") return;
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

function isPaletteKey(event) {
  const { keyboard } = document.documentElement.dataset;
  const isChord = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  return isChord && event.key.toLowerCase() === "k" && keyboard !== "off";
}

// The palette takes a moment to load. Keys that are pressed meanwhile are text for the palette, not
// shortcuts.
function openPalette(event, signal, done) {
  const typed = { text: "" };
  event.preventDefault();
  import("./palette.js").then((palette) => palette.default(signal, typed)).finally(done);
  return typed;
}

function keepTyped(typed, event) {
  event.preventDefault();
  if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) typed.text += event.key;
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
  const row = document.activeElement.closest(ROW);
  const key = name.replace(/^shift\+x$/, "x");
  const found = [...document.querySelectorAll("[aria-keyshortcuts]")].filter((control) =>
    control.getAttribute("aria-keyshortcuts").toLowerCase().split(" ").includes(key)
      && (control.checkVisibility() || menuOf(control)) && !control.closest("[inert], :disabled"));
  const elsewhere = found.filter((control) => !control.closest(ROW));
  return found.find((control) => row?.contains(control)) ?? elsewhere.find(isTyping) ?? elsewhere[0];
}

function press(control, event) {
  if (!control) return;
  event.preventDefault();
  const menu = menuOf(control);
  if (menu) menu.open = true;
  if (isTyping(control)) {
    control.focus();
    if (control.matches("input")) control.select();
  } else if (control.matches("[value=chosen]") && isUndecided(choicesOf(control.form))) {
    choicesOf(control.form)[0].focus();
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
  disarm(button.form);
  button.dataset.armed = "";
  field.focus();
}

function feedbackOf(form) {
  return form?.querySelector("textarea[name=feedback]");
}

function isUndecided(choices) {
  return choices.length > 0 && !choices.some((choice) => choice.checked);
}

function choicesOf(form) {
  return [...form.elements].filter((control) => control.matches("[name^=choice]:is([type=radio], [type=checkbox])"));
}

// Pressing a control in a closed menu opens the menu.
function menuOf(control) {
  return control.closest('[data-module="menu"]');
}

function sendArmed(event) {
  const form = event.target.form ?? event.target.closest("form");
  const buttons = [...form?.elements ?? []].filter((control) => control.matches("button"));
  const button = buttons.find((control) => "armed" in control.dataset)
    ?? buttons.find((control) => control.matches('[aria-keyshortcuts~="Control+Enter"]')
      && control.checkVisibility());
  if (!button) return;
  event.preventDefault();
  button.click();
}

function disarm(form) {
  for (const control of form?.elements ?? []) delete control.dataset.armed;
}

function release(field) {
  disarm(field.form);
  field.blur();
}

function rows() {
  return [...document.querySelectorAll(`:is(${ROW})[tabindex]`)].filter((row) => row.checkVisibility());
}

// Returns the nearest row in this direction that still awaits an answer.
function openRow(all, at, by) {
  for (let place = at + by; all[place]; place += by) {
    if (!all[place].matches(".row--done")) return all[place];
  }
  return null;
}

function step(by, event) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest(ROW));
  const next = at < 0 ? openRow(all, -1, 1) : openRow(all, at, by);
  if (!next) return;
  event.preventDefault();
  next.focus();
}

// An answered row stays in its place, and the focus moves to the row after it. After an undo, the
// focus moves to the row that is open again. The row stays at the same height in the window, also
// if the person uses a mouse.
function keepPlace(event) {
  const button = event.submitter ?? event.target;
  const all = rows();
  const row = button.closest(".row") ?? all.findLast((each) => button.closest(".bar") && each.querySelector(":checked"));
  const to = button.getAttribute("formaction") ?? event.target.getAttribute("action") ?? "";
  const undone = to.endsWith("/undo") && (button.value?.split(",")[0] || to.split("/").at(-2));
  const at = all.indexOf(row);
  const next = row && (openRow(all, at, 1) ?? openRow(all, at, -1));
  const pager = button.closest(".answer-bar") && document.querySelector(".pager");
  const neighbour = pager?.querySelector("[rel=next]") ?? pager?.querySelector("[rel=prev]");
  const onward = neighbour?.pathname.split("/")[2];
  const id = undone || onward ? `row-${undone || onward}` : next?.id;
  if (id) store({ id, row: row?.id, top: row?.getBoundingClientRect().top });
}

function store(place) {
  sessionStorage.setItem(PLACE, JSON.stringify(place));
}

// The way back from a delivery leads to the row of that delivery, or to the next row if it is
// answered.
function restorePlace() {
  const all = rows();
  if (!all.length) return;
  const { id, row, top } = JSON.parse(sessionStorage.getItem(PLACE) ?? "{}");
  sessionStorage.removeItem(PLACE);
  const opened = document.referrer.match(/\/deliveries\/([^/]+)\//)?.[1];
  const acted = document.getElementById(row ?? `row-${opened}`);
  let next = document.getElementById(id ?? "") ?? acted;
  if (next?.matches(".row--done")) {
    const at = all.indexOf(next);
    next = openRow(all, at, 1) ?? openRow(all, at, -1) ?? next;
  }
  if (row && acted && top !== undefined) scrollBy(0, acted.getBoundingClientRect().top - top);
  if (next && document.activeElement === document.body) next.focus();
}
