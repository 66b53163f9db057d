// The server has the answer: what this device kept of it may go.
export default function sent(element) {
  const prefix = `draft:${document.documentElement.dataset.person}:${element.dataset.sent}:`;
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
}
