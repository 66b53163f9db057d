// Adds a Show button to a password field.
export default function showPassword(input, signal) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button button--quiet";
  button.textContent = "Show";
  button.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-label", "Show the password");
  button.setAttribute("aria-controls", input.id);
  button.addEventListener("click", () => {
    const shown = input.type === "text";
    input.type = shown ? "password" : "text";
    button.setAttribute("aria-pressed", String(!shown));
  });
  const hadFocus = document.activeElement === input;
  const pair = document.createElement("div");
  pair.className = "password";
  input.replaceWith(pair);
  pair.append(input, button);
  if (hadFocus) input.focus();
  signal.addEventListener("abort", () => pair.replaceWith(input));
}
