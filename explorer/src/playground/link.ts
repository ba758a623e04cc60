// A link that carries a source and its input in its fragment, which no browser sends to any server: JSON, deflated, as
// base64url. The author of a link is not trusted: its size is bounded, its parts are texts, and it is opened as a
// source of its own, beside what is there.

import { lines, type Options } from "./api";

/** The most characters of a fragment, and the most bytes that it may become. */
export const LONGEST = 64_000;
export const LARGEST = 300_000;

export interface Linked {
  name: string;
  source: string;
  format: string | null;
  input: string | null;
  options: Options;
}

/** The fragment for a source, without the #; null if it is too long. */
export async function fragment(linked: Linked): Promise<string | null> {
  const bytes = new TextEncoder().encode(JSON.stringify({ v: 1, ...linked }));
  if (bytes.length > LARGEST) return null;
  const packed = await bytesOf(new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  const signs = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  const text = `source=${btoa(signs).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  return text.length > LONGEST ? null : text;
}

/** Whether a fragment, with its #, is one of those that `fragment` makes. */
export function isLink(hash: string): boolean {
  return hash.startsWith("#source=");
}

/** What a fragment carries, or why it cannot be opened. */
export async function opened(hash: string): Promise<Linked | string> {
  if (hash.length > LONGEST + 1) return "the link is too long";
  let text: string;
  try {
    const signs = atob(hash.slice("#source=".length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(signs, (sign) => sign.charCodeAt(0));
    const bytes = await bytesOf(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    return error instanceof RangeError ? error.message : "the link is damaged: copy it again, whole";
  }
  return checked(text);
}

/** What a text, as JSON, carries, or why it cannot be opened. */
export function checked(text: string): Linked | string {
  const damaged = "the link contains no source";
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return damaged;
  }
  if (typeof said !== "object" || said === null) return damaged;
  const { v, name, source, format, input, options } = said as Record<string, unknown>;
  if (v !== 1 || typeof source !== "string") return damaged;
  const { max_steps: steps, left_boundary: boundary } = (typeof options === "object" && options !== null ? options : {}) as Record<string, unknown>;
  return {
    name: typeof name === "string" ? name.slice(0, 80) : "from a link",
    source: lines(source),
    format: typeof format === "string" ? format.slice(0, 40) : null,
    input: typeof input === "string" ? input : null,
    options: {
      ...(Number.isSafeInteger(steps) && (steps as number) > 0 ? { max_steps: steps as number } : {}),
      ...(typeof boundary === "string" ? { left_boundary: boundary.slice(0, 20) } : {}),
    },
  };
}

/** All bytes of a stream, if they are not more than `LARGEST`. */
async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > LARGEST) {
      await reader.cancel();
      throw new RangeError("the source in the link is too long");
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
