// Counts the selected rows, selects a range with Shift, and keeps the selection in the URL, so that a
// reload and the next page keep it.
export default function selection(form, signal) {
  const line = form.querySelector("[data-count]");
  let last = null;

  const boxes = () => [...document.querySelectorAll('input[type=checkbox][name="id"]')];
  const selected = () => new FormData(form).getAll("id");
  const count = () => { line.textContent = `${selected().length} selected`; };
  document.addEventListener("click", (event) => {
    const all = boxes();
    const at = all.indexOf(event.target);
    if (at < 0) return;
    const from = all.indexOf(last);
    if (event.shiftKey && from >= 0) {
      for (const box of all.slice(Math.min(at, from), Math.max(at, from) + 1)) {
        box.checked = event.target.checked;
      }
    }
    last = event.target;
    count();
    keepInUrl(selected());
  }, { signal });
  const all = form.querySelector("[data-select-all]");
  all.hidden = false;
  all.addEventListener("click", () => {
    for (const box of boxes()) box.checked = true;
    count();
    keepInUrl(selected());
  }, { signal });
  count();
}

function keepInUrl(ids) {
  const withIds = (address) => {
    const url = new URL(address);
    url.searchParams.delete("id");
    for (const id of ids) url.searchParams.append("id", id);
    return url.href;
  };
  history.replaceState(null, "", withIds(location.href));
  for (const link of document.querySelectorAll(".section__older a")) link.href = withIds(link.href);
}
