// The playground: puts its parts into the page, and begins with what was open last.

import { el } from "../dom";
import { theme } from "../theme";
import { Api, token } from "./api";
import { Playground } from "./playground";

const button = document.querySelector<HTMLElement>("#theme")!;
theme(button);
const playground = new Playground(new Api(token()), document.querySelector("#work")!, document.querySelector("#bar")!, () => button.click());
playground.begin().catch((error: unknown) => {
  document.querySelector("#work")!.replaceChildren(el("p", { class: "notice" }, `The playground cannot be shown: ${String(error)}. It needs a browser of 2024 or later.`));
  throw error;
});
