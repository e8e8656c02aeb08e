// Opened from the disk, a page may not start a worker. Search is one: there its script runs in a hidden frame instead.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = data => this.tell(data);
      this.ready = new Promise(done => {
        const script = inside.document.createElement("script");
        script.onload = () => done(inside);
        script.src = url;
        inside.document.body.append(script);
      });
    }
    tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
    async postMessage(data) {
      const inside = await this.ready;
      const event = new inside.MessageEvent("message", { data });
      inside.dispatchEvent(event);
    }
    terminate() {}
  };
