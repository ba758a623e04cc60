// The page of a labeller: what was recorded is there already; this runs another input, and shows that instead.

import { unpacked } from "../data";
import { el } from "../dom";
import { type Decoder, decoderOf, type DecoderSpec } from "../live/decoder";
import { counted, Refused, thousands, visible } from "../live/refusals";
import { labelled, type LabellerSpec, lettersOf } from "./run";
import { answers, heads, stages } from "./tables";

type Data = LabellerSpec & { decoder: DecoderSpec | { none: string } };

const find = (selector: string) => document.querySelector<HTMLElement>(selector)!;
const SECTIONS = ["#answers", "#heads", "#stages"];

async function start(): Promise<void> {
  const data = JSON.parse(find("#data").textContent) as Data;
  const buffers = await unpacked(find("#columns").textContent);
  const input = el("input", { id: "other", type: "text", value: data.word, spellcheck: "false", autocomplete: "off", size: 40, "aria-describedby": "hint" });
  const said = el("p", { class: "said", role: "status" });
  const back = el("button", { type: "button", hidden: true }, "the recorded run");
  const form = el("form", { class: "box" }, el("label", { for: "other" }, "another input"), " ", input, " ", el("button", { type: "submit" }, "Run"), " ", back);
  find("h1").after(form, said);
  const recorded = [document.title, ...SECTIONS.map((section) => [...find(section).childNodes])] as const;

  const show = (title: string, parts: readonly (readonly Node[])[]) => {
    document.title = title;
    find("h1").textContent = title;
    SECTIONS.forEach((section, n) => find(section).replaceChildren(...parts[n]!));
  };
  back.addEventListener("click", () => {
    const [title, ...parts] = recorded;
    show(title, parts);
    back.hidden = true;
    find("#drawings").hidden = false;
    input.value = data.word;
    said.textContent = "This is the recorded run.";
  });
  const { decoder: spec } = data;
  if (spec.none !== undefined) {
    form.replaceWith(el("p", {}, `No other input can be run in this page: ${spec.none}.`));
  } else {
    form.after(el("p", { class: "hint", id: "hint" }, hint(lettersOf(spec, data))));
    let decoder: Decoder | null = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      said.textContent = "";
      try {
        const begun = performance.now();
        const run = labelled((decoder ??= decoderOf(spec, buffers)), data, input.value);
        const seconds = ((performance.now() - begun) / 1000).toFixed(2);
        const about = [`this page's engine, float64, ${counted(run.tokens.length, "position")}`, "nothing was compared: what says what is right is not in this page"];
        const title = `${visible(data.name)} on ${visible(input.value)}: nothing was compared`;
        show(title, [[find("#answers style"), answers(run, decoder), ...about.map((line) => el("p", {}, line))], heads(run, data), stages(run, data)]);
        find("#drawings").hidden = true;
        back.hidden = false;
        said.textContent = `Run in this page: ${counted(run.tokens.length, "position")} in ${seconds} s; nothing was compared.`;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        said.textContent = error.message;
      }
    });
  }
  document.documentElement.dataset["ready"] = "true";
}

/** What can be written in the box, in words. */
function hint(letters: string[]): string {
  const most = 40;
  const shown = letters.slice(0, most).map((letter) => (letter === " " ? "␣ (space)" : visible(letter)));
  const more = letters.length > most ? ` and ${thousands(letters.length - most)} more` : "";
  const long = letters.filter((letter) => [...letter].length > 1).slice(0, 2);
  const how = long.length ? `as a JSON list, such as ${JSON.stringify(long)}` : "one character each";
  return `tokens ${shown.join(" ")}${more}; ${how}`;
}

start().catch((error: unknown) => {
  find("h1").after(el("p", {}, `No other input can be run in this page: ${String(error)}. It needs a browser of 2024 or later.`));
  throw error;
});
