/* A browser starts no worker for a page that is read from a folder. Then the search's script runs in a hidden frame. */
"use strict";
/* The search reads a hyphen before a word as "without it": so that options are found, `--set` becomes `set`. */
const QUERY = 2;
const asked = message => (message?.type === QUERY ? { ...message, data: message.data.replace(/(^|\s)-+(?=\w)/g, "$1") } : message);
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body>");
      inside.document.close();
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: address, onload: resolve, onerror: reject });
        inside.document.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: asked(data) })));
    }
    terminate() {
      this.frame.remove();
    }
  };
} else {
  window.Worker = class extends Worker {
    postMessage(message, ...rest) {
      super.postMessage(asked(message), ...rest);
    }
  };
}
