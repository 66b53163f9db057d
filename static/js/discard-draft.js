// Deletes the draft of an answer from this device once the server has the answer.
export default function discardDraft(element) {
  const prefix = `draft:${document.documentElement.dataset.person}:${element.dataset.delivery}:`;
  for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
}
