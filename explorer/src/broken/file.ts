// A weight file, byte for byte as tm2tfr/transformer/storage.py writes it: safetensors, with one JSON object as metadata.

import type { About, Decoder, Matrix } from "../live/decoder";
import { matricesOf } from "./weights";

interface Tensor {
  dtype: "F64" | "I64";
  shape: number[];
  bytes: Uint8Array;
}

const NAMES = { F64: "float64", I64: "int64" } as const;

/** The weight file of a decoder; about: what it says beside the matrices, as Python's `json.dumps` writes it, without the digest. */
export async function weightFile(about: string, decoder: Decoder): Promise<Uint8Array<ArrayBuffer>> {
  const tensors = tensorsOf(decoder, (JSON.parse(about) as About).sparse);
  const digest = await digestOf(about, tensors);
  const metadata = `${about.slice(0, -1)}, "digest": "${digest}"}`;
  // safetensors puts tensors in the order of their types, the widest and then the last of its list first, and of their names
  const order = [...tensors].sort(([a, x], [b, y]) => (x.dtype === y.dtype ? compare(a, b) : x.dtype === "I64" ? -1 : 1));
  let end = 0;
  const entries = order.map(([name, { dtype, shape, bytes }]) => {
    const start = end;
    end += bytes.length;
    return `${JSON.stringify(name)}:{"dtype":"${dtype}","shape":[${shape.join(",")}],"data_offsets":[${start},${end}]}`;
  });
  let header = `{"__metadata__":{"tm2tfr":${JSON.stringify(metadata)}}${entries.map((each) => `,${each}`).join("")}}`;
  header += " ".repeat((8 - (header.length % 8)) % 8);
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(header.length), true);
  return joined([size, new TextEncoder().encode(header), ...order.map(([, { bytes }]) => bytes)]);
}

function tensorsOf(decoder: Decoder, sparse: About["sparse"]): Map<string, Tensor> {
  const found = new Map<string, Tensor>();
  for (const [path, matrix] of matricesOf(decoder)) {
    if (!Object.hasOwn(sparse, path)) {
      found.set(path, { dtype: "F64", shape: [matrix.height, matrix.width], bytes: bytesOf(dense(matrix)) });
      continue;
    }
    for (const part of ["rows", "columns"] as const) found.set(`${path}.${part}`, { dtype: "I64", shape: [matrix[part].length], bytes: bytesOf(BigInt64Array.from(matrix[part], BigInt)) });
    found.set(`${path}.values`, { dtype: "F64", shape: [matrix.values.length], bytes: bytesOf(matrix.values.slice()) });
  }
  return found;
}

function dense({ height, width, rows, columns, values }: Matrix): Float64Array {
  const found = new Float64Array(height * width);
  values.forEach((value, n) => (found[rows[n]! * width + columns[n]!] = value));
  return found;
}

const bytesOf = (array: Float64Array | BigInt64Array): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

async function digestOf(about: string, tensors: Map<string, Tensor>): Promise<string> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [encoder.encode(sorted(about))];
  for (const [name, { dtype, shape, bytes }] of [...tensors].sort(([a], [b]) => compare(a, b))) parts.push(encoder.encode(`\n${name} ${NAMES[dtype]} ${shape.join(" ")}\n`), bytes);
  if (!globalThis.crypto?.subtle) throw new Error("this browser computes no SHA-256 here, which a weight file ends with: open the page from disk, or over https");
  const hash = await crypto.subtle.digest("SHA-256", joined(parts));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const found = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

/** By code points, as Python sorts texts. */
function compare(a: string, b: string): number {
  const [x, y] = [[...a], [...b]];
  const n = x.findIndex((sign, k) => sign !== y[k]);
  if (n < 0) return x.length - y.length;
  return n >= y.length ? 1 : x[n]!.codePointAt(0)! - y[n]!.codePointAt(0)!;
}

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([-\w.+]+)|([[\]{},:]))/gy;

/** JSON with sorted keys and without spaces; texts and numbers stay as they are written. */
export function sorted(json: string): string {
  const tokens = [...json.matchAll(TOKEN)].map((match) => match[1] ?? match[2] ?? match[3]!);
  let at = 0;
  const value = (): string => {
    const token = tokens[at++]!;
    if (token !== "{" && token !== "[") return token;
    const [close, parts] = [token === "{" ? "}" : "]", [] as [string, string][]];
    while (tokens[at] !== close) {
      const key = token === "{" ? tokens[at]! : "";
      if (key) at += 2;
      parts.push([key, value()]);
      if (tokens[at] === ",") at++;
    }
    at++;
    if (token === "[") return `[${parts.map(([, each]) => each).join(",")}]`;
    const named = parts.map(([key, each]): [string, string] => [JSON.parse(key) as string, `${key}:${each}`]);
    return `{${named.sort(([a], [b]) => compare(a, b)).map(([, each]) => each).join(",")}}`;
  };
  return value();
}
