// Shows early that the text is not valid JSON; the server checks it again.
const WAIT_MS = 400;

export default function jsonCheck(area, signal) {
  const { form } = area;
  const note = document.getElementById(area.getAttribute("aria-describedby"));
  let timer = 0;

  const check = () => {
    const isJson = form.elements.edited_as.value === "json";
    const problem = isJson && area.value.trim() ? problemOf(area.value) : "";
    note.textContent = problem;
    area.setAttribute("aria-invalid", String(Boolean(problem)));
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, WAIT_MS);
  }, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
}

function problemOf(text) {
  try {
    const value = JSON.parse(text);
    const fits = typeof value === "string" || (value && typeof value === "object" && !Array.isArray(value));
    return fits ? "" : "Must be an object, like the agent sent.";
  } catch (error) {
    return `Not valid JSON yet: ${error.message}`;
  }
}
