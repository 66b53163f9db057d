// Copies the text of another element, or selects the text if the browser does not allow copying.
export default function copy(button, signal) {
  const source = document.querySelector(button.dataset.copy);
  const words = button.textContent;

  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Selected: copy it now";
      select(source);
    }
  }, { signal });
  button.addEventListener("blur", () => { button.textContent = words; }, { signal });
}

function select(source) {
  if (source.select) {
    source.focus();
    source.select();
  } else {
    getSelection().selectAllChildren(source);
  }
}
