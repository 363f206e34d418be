// The service worker of the static site: answers from its cache, so that the site works offline after the first visit.
// `scripts/static_site.py` writes two constants before it: `FILES`, the digest of every file by its path in the site, and
// `WHEN_SHOWN`, the paths of those that are loaded only when a page needs them.

const CACHE = "dumbbell";
const SCOPE = self.registration.scope;

/** The key of a file: a new content is a new key. */
function keyOf(path) {
  return `${SCOPE}${path}?${FILES[path]}`;
}

async function fetched(cache, path) {
  const response = await fetch(`${SCOPE}${path}`, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${path}: status ${response.status}`);
  await cache.put(keyOf(path), response.clone());
  return response;
}

async function install() {
  const cache = await caches.open(CACHE);
  const known = new Set((await cache.keys()).map(({ url }) => url));
  const missing = Object.keys(FILES).filter((path) => !WHEN_SHOWN.has(path) && !known.has(keyOf(path)));
  for (let at = 0; at < missing.length; at += 8)
    await Promise.all(missing.slice(at, at + 8).map((path) => fetched(cache, path)));
  await self.skipWaiting();
}

async function activate() {
  const cache = await caches.open(CACHE);
  const current = new Set(Object.keys(FILES).map(keyOf));
  for (const request of await cache.keys()) if (!current.has(request.url)) await cache.delete(request);
  await self.clients.claim();
}

async function answer(path) {
  const cache = await caches.open(CACHE);
  return (await cache.match(keyOf(path))) ?? fetched(cache, path);
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const url = event.request.url.replace(/[?#].*$/, "");
  if (event.request.method !== "GET" || !url.startsWith(SCOPE)) return;
  const path = decodeURI(url.slice(SCOPE.length)).replace(/(^|\/)$/, "$1index.html");
  if (path in FILES) event.respondWith(answer(path));
});
