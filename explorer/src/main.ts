// The page that `tm2tfr explore` writes: reads its data, and shows them.

import { leavesFocus } from "./controls";
import { type PageData, unpacked } from "./data";
import { el } from "./dom";
import { mount } from "./page";
import { theme } from "./theme";

const main = document.querySelector<HTMLElement>("main")!;

async function start(): Promise<void> {
  const data = JSON.parse(document.querySelector("#data")!.textContent) as PageData;
  const buffers = await unpacked(document.querySelector("#columns")!.textContent);
  const button = document.querySelector<HTMLElement>("#theme")!;
  const verdict = document.querySelector<HTMLElement>(".verdict");
  const mounted = mount(main, data, buffers, { verdict, address: true, theme: () => button.click() });
  document.querySelector("#help")!.addEventListener("click", () => mounted.help());
  for (const cut of document.querySelectorAll<HTMLElement>(".bar .input, .bar .about")) cut.title = cut.textContent!;
  leavesFocus(document.querySelector<HTMLElement>(".bar")!);
  theme(button);
  document.documentElement.dataset["ready"] = "true";
}

start().catch((error: unknown) => {
  main.replaceChildren(el("p", { class: "notice" }, `This page cannot be shown: ${String(error)}. It needs a browser of 2023 or later.`));
  throw error;
});
