// What a person reads or presses must lie inside the window, unless it is in a region that scrolls.
() => {
  const outside = [];
  const hidden = element => element.closest(".skip, [hidden]") || !element.checkVisibility();
  const isClippedOrScrolls = element => {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.clipPath !== "none" || ["auto", "scroll"].includes(style.overflowX)) return true;
    }
    return false;
  };
  const look = (element, rects, name) => {
    if (hidden(element) || isClippedOrScrolls(element)) return;
    for (const rect of rects)
      if (rect.width && (rect.right > innerWidth + 1 || rect.left < -1)) outside.push(name);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    if (walker.currentNode.data.trim())
      look(walker.currentNode.parentElement, range.getClientRects(), walker.currentNode.data.trim());
  }
  for (const control of document.querySelectorAll("a, button, input, select, textarea, .rows, pre"))
    look(control, [control.getBoundingClientRect()], control.outerHTML.slice(0, 80));
  if (document.documentElement.scrollWidth > innerWidth + 1) outside.push("The page scrolls sideways.");
  return outside;
}
