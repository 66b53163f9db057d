// Subscribes this browser to notifications when its person presses the button, and sends the
// subscription with the form. The form is hidden until this runs.
const READY_MS = 10_000;
const BLOCKED = "This browser blocks notifications from Wake. Allow them in its settings for this site, then try again.";
const FAILED = "Notifications couldn't be turned on. Reload the page and try again.";

export default function webPush(form, signal) {
  if (!navigator.serviceWorker || !window.PushManager || !window.Notification) {
    document.querySelector("[data-unsupported]").hidden = false;
    return;
  }
  form.hidden = false;
  delete form.dataset.subscribed; // a page that the browser had kept in memory
  form.addEventListener("submit", (event) => {
    if ("subscribed" in form.dataset) return;
    event.preventDefault();
    event.stopPropagation();
    say(form, "");
    turnOn(form).catch(() => say(form, FAILED));
  }, { signal });
}

async function turnOn(form) {
  if (await Notification.requestPermission() !== "granted") {
    say(form, BLOCKED);
    return;
  }
  const { pushManager } = await ready();
  // An older subscription may be that of another person who used this browser.
  await (await pushManager.getSubscription())?.unsubscribe();
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: asBytes(form.dataset.key),
  });
  form.elements.subscription.value = JSON.stringify(subscription);
  form.dataset.subscribed = "";
  form.requestSubmit();
}

// Has a time limit, because a private window may allow no service worker, and `ready` would then
// wait forever.
function ready() {
  const late = new Promise((_, reject) => { setTimeout(() => reject(new Error("late")), READY_MS); });
  return Promise.race([navigator.serviceWorker.ready, late]);
}

function asBytes(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function say(form, words) {
  const note = form.querySelector("[role=alert]");
  note.textContent = words;
  note.hidden = !words;
}
