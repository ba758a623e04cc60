// The open sources: their texts, the choices beside them, and the part that is stored in this browser.

import type { EditorState } from "@codemirror/state";
import type { Answer, Kind, Options } from "./api";

/** What is shown beside a source: its last answer with a run, and where one was in it. */
export interface Shown {
  /** The identifier of the source. */
  of: string;
  answer: Answer;
  input: string | null;
  place: { i: number; layer: number; raw: boolean; scroll: number } | null;
}

export interface Opened {
  readonly id: string;
  name: string;
  /** The name of the shipped source that it began as. */
  readonly shipped: string | null;
  kind: Kind | null;
  format: string | null;
  /** What it is compared with to say whether it has changed. */
  original: string;
  /** The text with its undo history; null until a shipped one is fetched. */
  state: EditorState | null;
  /** Null until one is chosen: then the first that the server suggests is run. */
  input: string | null;
  options: Options;
  shown: Shown | null;
}

/** What is kept of a source; the text is left out if it is a shipped one as it was. */
export interface Kept {
  id: string;
  name: string;
  shipped: string | null;
  kind: Kind | null;
  format: string | null;
  original: string | null;
  text: string | null;
  input: string | null;
  options: Options;
}

const PREFIX = "tm2tfr-playground:";
const CURRENT = "tm2tfr-playground-current";

export function isDirty(source: Opened): boolean {
  if (source.state === null) return false;
  const { doc } = source.state;
  return doc.length !== source.original.length || doc.toString() !== source.original;
}

/** Keep a source, under its own key, so that two windows do not undo each other's; false if there is no room. */
export function keep(source: Opened): boolean {
  const dirty = isDirty(source);
  const { id, name, shipped, kind, format, original, input, options } = source;
  const known = shipped !== null && !dirty;
  const kept: Kept = { id, name, shipped, kind, format, original: known ? null : original, text: dirty ? source.state!.doc.toString() : null, input, options };
  try {
    localStorage.setItem(PREFIX + id, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

export function forget(id: string): void {
  try {
    localStorage.removeItem(PREFIX + id);
  } catch {
    // no storage here
  }
}

export function keepCurrent(id: string): void {
  try {
    localStorage.setItem(CURRENT, id);
  } catch {
    // no storage here
  }
}

/** All sources that are kept, the current one's identifier with them; what cannot be read is left alone. */
export function kept(): { sources: Kept[]; current: string | null } {
  const sources: Kept[] = [];
  let current: string | null = null;
  try {
    current = localStorage.getItem(CURRENT);
    for (let n = 0; n < localStorage.length; n++) {
      const key = localStorage.key(n)!;
      if (!key.startsWith(PREFIX)) continue;
      try {
        const said = JSON.parse(localStorage.getItem(key)!) as Kept;
        if (PREFIX + said.id === key && whole(said)) sources.push(said);
      } catch {
        // somebody else's
      }
    }
  } catch {
    // no storage here
  }
  return { sources: sources.sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true })), current };
}

/** Whether what was kept has all its parts. */
function whole({ name, shipped, format, original, text, input, options }: Kept): boolean {
  const optional = [shipped, format, original, text, input].every((each) => each === null || typeof each === "string");
  return typeof name === "string" && optional && typeof options === "object" && options !== null;
}

/** An identifier that is later than all before. */
export function fresh(): string {
  return `${Date.now()}-${Math.floor(Math.random() * 1e6)}`;
}
