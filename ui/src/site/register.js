// Registers the site's service worker, which lies next to this file, where browsers permit one.

const script = document.currentScript;
if ("serviceWorker" in navigator && script && isSecureContext)
  addEventListener("load", () => {
    navigator.serviceWorker.register(new URL("service-worker.js", script.src)).catch(() => {
      // Without it, in a private window for example, the site needs the network.
    });
  });
