// Built from explorer/src; see explorer/README.md.
"use strict";
(() => {
  // src/playground/draws.ts
  Object.assign(globalThis, { window: globalThis, document: { baseURI: location.href } });
  importScripts("viz.js");
  addEventListener("message", ({ data: [n, dot] }) => {
    window.tm2tfrDraws(dot).then(
      (svg) => postMessage([n, svg, null]),
      (error) => postMessage([n, null, String(error)])
    );
  });
})();
