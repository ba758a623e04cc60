// A machine, in any notation that the page reads: a document of turingmachine.io, JFLAP's XML, or bbchallenge text.

import * as bbchallenge from "./bbchallenge";
import * as document from "./document";
import type { Loaded } from "./draft";
import * as jflap from "./jflap";
import { SpecError } from "./text";
import { yamlOf } from "./writing";

/** What the text is called in messages: they are those of `tm2tfr check machine.yaml`. */
export const FILE = "machine.yaml";
const NAME = "machine";

/** Read a machine; name: what it is called if it does not say so, by default as the command line does: bbchallenge text by itself.
 *
 * Throws `SpecError` with every error.
 */
export function read(text: string, file = FILE, name?: string): Loaded {
  const trimmed = text.trim();
  if (jflap.looksLike(text)) return jflap.read(text, file, name ?? NAME);
  const called = name ?? (bbchallenge.isArgument(trimmed) ? trimmed : NAME);
  return !document.looksLike(text) && bbchallenge.looksLike(text) ? bbchallenge.read(text, file, called) : document.read(text, file, called);
}

/** Whether a text is a whole JFLAP file. */
export const isJflap = jflap.looksLike;

/** A text for the editor: YAML in place of a JFLAP file; one with errors stays as it is, so that they are marked in it. */
export function editable(text: string, name = NAME): string {
  if (!isJflap(text)) return text;
  try {
    return yamlOf(jflap.read(text, FILE, name));
  } catch (error) {
    if (error instanceof SpecError) return text;
    throw error;
  }
}
