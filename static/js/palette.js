// Shows the page "Go to" over any page (Ctrl or Cmd K), with the actions of the focused row or of the
// selection on top. Each action presses a control of the page, as a shortcut does.
import { read } from "./updates.js";

export default async function openPalette(signal, typed) {
  if (document.querySelector("dialog[open]")) return;
  const link = document.querySelector("[data-go]");
  const controls = actions();
  const nodes = await read(link.href, signal);
  const content = [...nodes ?? []].find((node) => node.id === "main")?.querySelector(".go");
  if (!content || signal.aborted) {
    location.assign(link.href);
    return;
  }
  const dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Go to");
  content.querySelector(".go__filter").remove();
  const list = content.querySelector("ul");
  list.prepend(...controls.map((control) => actionOf(control, dialog)));
  dialog.append(content);
  document.body.append(dialog);

  const input = content.querySelector("input");
  input.addEventListener("input", () => narrow(list, input.value), { signal });
  dialog.addEventListener("keydown", (event) => move(event, list, input), { signal });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(), { signal });
  dialog.addEventListener("close", () => dialog.remove(), { signal });
  dialog.showModal();
  input.value = typed.text;
  narrow(list, input.value);
  input.focus();
}

function actions() {
  const row = document.activeElement.closest(".row");
  return [...document.querySelectorAll("main :is(button, a, summary)[aria-keyshortcuts]")].filter(
    (control) => control.checkVisibility() && (row?.contains(control) || !control.closest(".row")),
  );
}

// An action is found by its own words. The label also has words of an agent, which could be the
// name of the place that a person types.
function actionOf(control, dialog) {
  const item = document.createElement("li");
  item.dataset.words = control.matches(".row a") ? "open" : control.textContent.trim().toLowerCase();
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = control.getAttribute("aria-label") ?? control.textContent.trim();
  button.addEventListener("click", () => {
    dialog.close();
    control.click();
  });
  item.append(button);
  return item;
}

function narrow(list, text) {
  const wanted = text.trim().toLowerCase();
  for (const item of list.children) {
    item.hidden = !(item.dataset.words ?? item.textContent.toLowerCase()).includes(wanted);
  }
}

// Enter goes to the first place that matches, or searches the inbox if there is none.
function move(event, list, input) {
  const items = [...list.querySelectorAll("li:not([hidden]) :is(a, button)")];
  const at = items.indexOf(document.activeElement);
  if (event.key === "Enter" && event.target === input && items.length && input.value.trim()) {
    event.preventDefault();
    items[0].click();
  }
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  (items[at + by] ?? input).focus();
}
