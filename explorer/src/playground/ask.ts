// A question with two answers, and a text to be copied by hand.

import { el } from "../dom";

/** Ask before something is lost; true for yes. */
export function confirmed(question: string, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    const dialog = el(
      "dialog",
      { class: "ask", "aria-label": question },
      el("p", {}, question),
      el("form", { method: "dialog" }, el("button", { class: "small", value: "no" }, "cancel"), el("button", { class: "small danger", value: "yes" }, yes)),
    );
    shown(dialog, () => resolve(dialog.returnValue === "yes"));
  });
}

/** Show a text that can be copied. */
export function given(title: string, text: string): void {
  const field = el("textarea", { class: "mono", readonly: true, rows: 5, "aria-label": title });
  field.value = text;
  shown(el("dialog", { class: "ask", "aria-label": title }, el("p", {}, title), field, el("form", { method: "dialog" }, el("button", { class: "small" }, "close"))), () => {});
  field.select();
}

function shown(dialog: HTMLDialogElement, then: () => void): void {
  dialog.addEventListener("close", () => {
    dialog.remove();
    then();
  });
  document.body.append(dialog);
  dialog.showModal();
}
