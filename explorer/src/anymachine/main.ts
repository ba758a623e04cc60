// The page in which any machine runs: reads its data, and shows what is written; in a worker: runs it.

export { aboutOf } from "../live/decoder";
export { carriedOut, weightsOf } from "../live/worker";
export { unpacked } from "../data";
export { placed } from "./prompt";
export { editable, read } from "./reading";
export { Template } from "./template";
export { written } from "./text";

import type { Broken } from "../broken/broken";
import { leavesFocus } from "../controls";
import { type Buffers, type PageData, unpacked } from "../data";
import { el, replacing } from "../dom";
import { launch } from "../launch";
import { mount, type Mounted } from "../page";
import { theme } from "../theme";
import { type AnyMachineData, Template } from "./template";
import { Workbench } from "./workbench";

async function start(script: string): Promise<void> {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector)!;
  const data = JSON.parse(find("#data").textContent) as AnyMachineData;
  const buffers = await unpacked(find("#columns").textContent);
  const button = find("#theme");
  let mounted: Mounted | null = null;
  const show = (run: PageData, columns: Buffers, broken: Broken | null) => replacing(() => {
    mounted?.dispose();
    mounted = mount(find("main"), run, columns, { verdict: find(".verdict"), theme: () => button.click(), broken });
    const { input } = run.runs[0]!;
    find(".bar .ran").replaceChildren(el("b", {}, run.box.name), " on ", el("b", { class: "mono" }, input || "(empty)"));
    document.title = `${run.title} – ${data.title}`;
    window.tm2tfrShows = { data: run, buffers: columns };
  });
  const bench = new Workbench(data, buffers, new Template(data, buffers), script, show);
  find("main").before(bench.element);
  find("#help").addEventListener("click", () => mounted?.help());
  leavesFocus(find(".bar"));
  theme(button);
  await bench.begin();
  document.documentElement.dataset["ready"] = "true";
}

launch(start);
