// Keeps "in 25 min" true while the page is open, in the words of the server (inbox/pages/times.py).
const EVERY_MS = 15_000;

export default function timeLeft(element, signal) {
  const timer = setInterval(() => {
    element.textContent = words(Math.round((new Date(element.dataset.ends) - Date.now()) / 1000));
  }, EVERY_MS);
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
