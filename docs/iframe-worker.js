// Browsers refuse workers to pages that are opened as files. There the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  // Like a worker's messages: copied, and delivered after the caller is done.
  const later = (deliver) => (data) => {
    const copy = structuredClone(data);
    setTimeout(() => deliver(copy));
  };

  window.Worker = class extends EventTarget {
    onmessage = null;
    #queue = [];
    #deliver = (data) => this.#queue.push(data);

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      frame.addEventListener("load", () => this.#start(frame.contentWindow, new URL(url, document.baseURI)), { once: true });
      document.documentElement.append(frame);
    }

    #start(inside, url) {
      inside.postMessage = later((data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      });
      const script = inside.document.createElement("script");
      script.src = url.href;
      script.addEventListener("load", () => {
        this.#deliver = later((data) => inside.onmessage?.(new inside.MessageEvent("message", { data })));
        for (const data of this.#queue.splice(0)) this.#deliver(data);
      });
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.#deliver(data);
    }

    terminate() {}
  };
}
