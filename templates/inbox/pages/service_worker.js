// Shows notifications, and its own page about a missing connection instead of the browser's page.
// The service worker stores no other page.
const PAGE = "{{ page }}";
const FILES = [PAGE{% for file in files %}, "{{ file }}"{% endfor %}];
const INBOX = "{{ inbox }}";
const ICON = "{{ icon }}";
const RENEWAL = "{{ renewal }}";
const CACHE = `offline ${FILES.join(" ")}`;

self.addEventListener("install", (event) => {
  const requests = FILES.map((file) => new Request(file, { credentials: "omit", cache: "no-cache" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith("offline ") && name !== CACHE;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isFile = FILES.includes(new URL(request.url).pathname);
  if (request.method !== "GET" || (request.mode !== "navigate" && !isFile)) return;
  event.respondWith(fetch(request).catch(() => caches.match(isFile ? request.url : PAGE)));
});

// Browsers end the subscription of a page whose push shows nothing.
self.addEventListener("push", (event) => {
  const { title = "Wake", body = "", path = INBOX, tag = "" } = read(event.data);
  const shown = { body, tag, renotify: Boolean(tag), icon: ICON, data: { path } };
  event.waitUntil(self.registration.showNotification(title, shown));
});

// The browser or its push service has ended the subscription: the channel gets the next one.
self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(renew(event.newSubscription));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.path));
});

// Does not subscribe again if this browser has no channel, or if its person has signed out.
async function renew(given) {
  const { pushManager } = self.registration;
  const answer = await fetch(RENEWAL);
  const { key, token } = answer.redirected ? {} : await answer.json();
  if (!key) {
    await (given ?? await pushManager.getSubscription())?.unsubscribe();
    return;
  }
  const subscription = given
    ?? await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const body = new URLSearchParams({ subscription: JSON.stringify(subscription) });
  await fetch(RENEWAL, { method: "POST", body, headers: { "X-CSRFToken": token } });
}

function read(data) {
  try {
    return data.json();
  } catch {
    return {};
  }
}

// Goes to a window that shows the page already. Otherwise reuses a window with the list, because no
// one types there, or opens a new window.
async function open(path) {
  const url = here(path);
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const same = windows.find((client) => client.url.split("#")[0] === url);
  if (same) return same.focus();
  const list = windows.find((client) => client.url.split(/[?#]/)[0] === here(INBOX));
  const moved = await list?.navigate(url).catch(() => null);
  return moved ? moved.focus() : self.clients.openWindow(url);
}

function here(path) {
  const url = new URL(typeof path === "string" ? path : INBOX, self.location.origin);
  return url.origin === self.location.origin ? url.href : here(INBOX);
}
