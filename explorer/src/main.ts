// The page that `tm2tfr explore` writes: reads its data, and shows them; in a worker: runs another input.

export * from "./live/engine";

import { keptInAddress } from "./broken/address";
import { Broken } from "./broken/broken";
import { leavesFocus } from "./controls";
import { type Buffers, type PageData, unpacked } from "./data";
import { el, replacing, set } from "./dom";
import { Box } from "./live/box";
import { quoted } from "./live/refusals";
import { launch } from "./launch";
import { mount, type Mounted } from "./page";
import { theme } from "./theme";

async function start(script: string): Promise<void> {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector)!;
  const recorded = JSON.parse(find("#data").textContent) as PageData;
  const packed = await unpacked(find("#columns").textContent);
  const button = find("#theme");
  const broken = Broken.of(recorded, packed, true);
  const around = { verdict: find(".verdict"), address: true, theme: () => button.click(), broken };
  let mounted: Mounted | null = null;
  const show = (data: PageData, buffers: Buffers) => replacing(() => {
    if (mounted) {
      mounted.dispose();
      history.replaceState(null, "", `#${keptInAddress().join("&")}`); // its position is that of another run
    }
    mounted = mount(find("main"), data, buffers, around);
    window.tm2tfrShows = { data, buffers };
  });
  show(recorded, packed);
  find("#help").addEventListener("click", () => mounted!.help());
  const box = new Box(recorded, packed, script, (data, buffers) => {
    show(data, buffers);
    if (broken?.changes.length) find(".notice, .changes-panel").scrollIntoView({ block: "center" }); // what came of the change
    const { input } = data.runs[0]!;
    find(".bar .input b").textContent = input || "(empty)";
    find(".bar .input").title = find(".bar .input").textContent;
    document.title = `${recorded.box.name} on ${quoted(input)}`;
  }, broken);
  find("main").before(box.element);
  if (broken) {
    const follow = () => box.attempt(() => broken.fromAddress() && broken.start());
    follow();
    addEventListener("hashchange", follow);
  }
  foldable(find(".about"));
  for (const cut of document.querySelectorAll<HTMLElement>(".bar .input")) cut.title = cut.textContent!;
  leavesFocus(find(".bar"));
  theme(button);
  document.documentElement.dataset["ready"] = "true";
}

/** On a narrow screen a long description is three lines (explorer.css), until its button is pressed. */
function foldable(about: HTMLElement): void {
  const more = el("button", { type: "button", class: "small", hidden: true, "aria-expanded": "false", click: () => unfold(!about.classList.contains("whole")) }, "more");
  const unfold = (whole: boolean) => {
    about.classList.toggle("whole", whole);
    set(more, { "aria-expanded": String(whole) });
    more.textContent = whole ? "less" : "more";
  };
  about.append(more);
  new ResizeObserver(() => {
    if (!about.classList.contains("whole")) more.hidden = about.scrollHeight <= about.clientHeight + 1;
  }).observe(about);
}

launch(start);
