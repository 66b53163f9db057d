// Registers the service worker, which shows a page of ours when there is no connection.
const SCRIPT = "/service-worker.js";

export default function offlinePage() {
  if (!navigator.serviceWorker || !isSecureContext) return;
  const createScriptURL = (url) => (url === SCRIPT ? url : null);
  const policy = window.trustedTypes?.defaultPolicy
    ?? window.trustedTypes?.createPolicy("default", { createScriptURL });
  // Without the service worker everything else works, for example in a private window that allows
  // no storage.
  navigator.serviceWorker.register(policy?.createScriptURL(SCRIPT) ?? SCRIPT).catch(() => {});
}
