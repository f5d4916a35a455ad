// Browsers start no Worker for a page that is opened as a file, and the search needs one: there an invisible frame runs
// its script instead. MkDocs' theme would fetch such a substitute from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.hidden = true;
      this.inner = frame.contentWindow;
      this.inner.document.open(); // else Firefox replaces the document later
      this.inner.document.write("<!doctype html><body>");
      this.inner.document.close();
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.inner.document.createElement("script");
      this.loaded = new Promise((resolve) => { script.onload = resolve; });
      script.src = new URL(url, location.href);
      this.inner.document.body.append(script);
    }

    async postMessage(data) {
      await this.loaded;
      this.inner.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
