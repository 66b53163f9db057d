// Returns the buttons of the page, each with its index; presses the button with the given index.
(index) => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const form of document.forms) form.noValidate = true;
  const buttons = [...document.querySelectorAll("button, input[type=submit], input[type=button]")];
  if (index !== null) {
    buttons[index].click();
    return [];
  }
  return buttons.map((button, at) => {
    const form = button.form;
    // The button for web push asks the browser first, which cannot be asked here.
    const asks = form?.dataset.module === "web-push";
    const submits = Boolean(form) && button.type === "submit" && !asks;
    const action = button.getAttribute("formaction") ?? form?.getAttribute("action") ?? "";
    return {
      index: at,
      name: (button.getAttribute("aria-label") ?? button.textContent).trim() || "(Enter)",
      value: button.value,
      path: new URL(action || location.href, location.href).pathname,
      submits,
      byScript: Boolean(form?.dataset.options),
      works: !button.disabled && !button.closest("[hidden]"),
      isOfThePage: Boolean(button.closest("main")),
    };
  });
}
