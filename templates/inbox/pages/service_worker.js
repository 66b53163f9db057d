// Shows the page about a missing connection instead of the browser's. It keeps no other page.
const PAGE = "{{ page }}";
const FILES = [PAGE{% for file in files %}, "{{ file }}"{% endfor %}];
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
