// Closes an open menu when you press Escape or click elsewhere.
export default function menu(details, signal) {
  document.addEventListener("click", (event) => {
    if (!details.contains(event.target)) details.open = false;
  }, { signal });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary").focus();
  }, { signal });
}
