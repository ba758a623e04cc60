// A machine, in either notation that the page reads: a document of turingmachine.io, or bbchallenge text.

import * as bbchallenge from "./bbchallenge";
import * as document from "./document";
import type { Loaded } from "./draft";

/** What the text is called in messages: they are those of `tm2tfr check machine.yaml`. */
export const FILE = "machine.yaml";
const NAME = "machine";

/** Read a machine; name: what it is called if it does not say so, by default as the command line does: bbchallenge text by itself.
 *
 * Throws `SpecError` with every error.
 */
export function read(text: string, file = FILE, name?: string): Loaded {
  const trimmed = text.trim();
  const called = name ?? (bbchallenge.isArgument(trimmed) ? trimmed : NAME);
  return !document.looksLike(text) && bbchallenge.looksLike(text) ? bbchallenge.read(text, file, called) : document.read(text, file, called);
}
