// Returns the texts of an element that a person can see: rendered, inside every box that clips and
// does not scroll, at least 8 pixels high, and in another colour than what lies behind them.
element => {
  const LEAST_CONTRAST = 2, LEAST_SIZE = 8
  const styles = new Map()
  const styleOf = node => {
    if (!styles.has(node)) styles.set(node, getComputedStyle(node))
    return styles.get(node)
  }
  const clipping = new Map()  // the nearest ancestors that clip, for each element
  const clippersOf = node => {
    if (!node || node === document.body) return []
    if (!clipping.has(node)) {
      const style = styleOf(node)
      const clips = side => ["hidden", "clip"].includes(style[`overflow${side}`])
      const [x, y] = [clips("X"), clips("Y")]
      const always = style.clipPath !== "none" || style.webkitLineClamp !== "none"
      const own = x || y || always ? [{x, y, always, box: node.getBoundingClientRect()}] : []
      clipping.set(node, [...own, ...clippersOf(node.parentElement)])
    }
    return clipping.get(node)
  }
  const blockOf = node => {
    while (styleOf(node).display.startsWith("inline") || styleOf(node).display === "contents") node = node.parentElement
    return node
  }
  const numbers = colour => (colour.match(/[\d.]+/g) || []).map(Number)
  const luminance = rgb => rgb.slice(0, 3).map(value => value / 255)
    .map(value => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
    .reduce((sum, value, place) => sum + value * [.2126, .7152, .0722][place], 0)
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = numbers(styleOf(node).backgroundColor)
      if (colour.length === 3 || colour[3] === 1) return colour
    }
    return [255, 255, 255]
  }
  const hasContrast = node => {
    const style = styleOf(node)
    if (!style.color.startsWith("rgb")) return true
    const colour = numbers(style.color)
    if (colour.length === 4 && colour[3] < .5) return false
    const [low, high] = [luminance(colour), luminance(behind(node))].sort((a, b) => a - b)
    return (high + .05) / (low + .05) >= LEAST_CONTRAST
  }
  const isClipped = (rect, node) => clippersOf(node).some(({x, y, always, box}) => always
    || (x && (rect.right > box.right + 1 || rect.left < box.left - 1))
    || (y && (rect.bottom > box.bottom + 1 || rect.top < box.top - 1)))
  const isInSight = text => {
    const parent = text.parentElement
    if (!parent.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false
    if (parent.closest("svg") || parseFloat(styleOf(parent).fontSize) < LEAST_SIZE) return false
    const range = document.createRange()
    range.selectNodeContents(text)
    const rects = [...range.getClientRects()].filter(rect => rect.width > 0 && rect.height > 0)
    return rects.length && hasContrast(parent) && !rects.some(rect => isClipped(rect, parent))
  }
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
  const seen = []
  let block = null
  while (walker.nextNode()) {
    const text = walker.currentNode
    if (text.nodeType === Node.ELEMENT_NODE) {
      if (text.localName === "br") seen.push("\n")
      continue
    }
    if (!text.data.trim()) {
      seen.push(" ")
      continue
    }
    if (block !== (block = blockOf(text.parentElement))) seen.push("\n")
    if (isInSight(text)) seen.push(text.data)
  }
  // The text of an input counts whole, unless the input clips it.
  for (const input of element.querySelectorAll("input[type=text], input:not([type]), textarea, select")) {
    if (input.scrollWidth <= input.clientWidth + 1) seen.push(` ${input.value} `)
  }
  return seen.join("")
}
