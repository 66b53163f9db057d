// Closes an open menu when you press Escape or click elsewhere.
export function menu(details, signal) {
  document.addEventListener("click", (event) => {
    if (!details.contains(event.target)) details.open = false;
  }, { signal });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary").focus();
  }, { signal });
}

// Keeps "in 25 min" true while the page is open, in the words of the server (inbox/pages/times.py).
const TIME_EVERY_MS = 15_000;

export function timeLeft(element, signal) {
  const timer = setInterval(() => {
    element.textContent = words(Math.round((new Date(element.dataset.ends) - Date.now()) / 1000));
  }, TIME_EVERY_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function words(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds <= 0) return "now";
  if (seconds < 60) return `in ${seconds} s`;
  if (minutes < 60) return `in ${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `in ${Math.round(hours / 24)} days`;
  return minutes % 60 ? `in ${hours} h ${minutes % 60} min` : `in ${hours} h`;
}
