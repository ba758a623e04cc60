// A worker that draws graphs: viz.js as pages have it, which expects a window.

declare function importScripts(...urls: string[]): void;

Object.assign(globalThis, { window: globalThis, document: { baseURI: location.href } });
importScripts("viz.js");

addEventListener("message", ({ data: [n, dot] }: MessageEvent<[number, string]>) => {
  window.tm2tfrDraws!(dot).then(
    (svg) => postMessage([n, svg, null]),
    (error: unknown) => postMessage([n, null, String(error)]),
  );
});
