// Lets the keyboard scroll a wide table. The theme wraps each table when its page is loaded.
window.addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    table.tabIndex = 0;
    table.role = "group";
    table.ariaLabel = "Table";
  }
});
