// What the server is asked, and what it answers (tm2tfr/web/playground/answer.py says the same in Python).

import type { PageData } from "../data";

export type Kind = "turing" | "circuit" | "rasp" | "logic" | "automaton";

/** A replacement that fixes a problem; lines and columns count from 1, columns and lengths as JavaScript counts. */
export interface Fix {
  label: string;
  line: number;
  column: number;
  length: number;
  replacement: string;
}

export interface Diagnostic {
  severity: "error" | "warning" | "info";
  what: string;
  remedy: string;
  line: number | null;
  column: number | null;
  length: number | null;
  fixes: Fix[];
}

export interface Options {
  max_steps?: number;
  left_boundary?: string;
}

export interface Question {
  source: string;
  format: string | null;
  input: string | null;
  options: Options;
  name: string;
}

/** A run for the explorer's views. */
export interface Page {
  data: PageData;
  columns: string;
}

export interface Answer {
  kind: Kind | null;
  noun: string;
  format: string | null;
  name: string;
  diagnostics: Diagnostic[];
  /** The input that was run, and inputs to try. */
  input: string | null;
  inputs: string[];
  about_input: Diagnostic | null;
  page: Page | null;
  /** The options that apply to such a source. */
  options: string[];
  /** The formats that it can be saved in. */
  targets: string[];
  seconds: number;
}

export interface Shipped {
  kind: Kind;
  name: string;
  format: string;
  description: string;
}

export type Export = "source" | "weights" | "latex" | "csv" | "page";

/** The server has no room for this now; its own words say why. */
export class Busy extends Error {}

/** The server cannot be reached. */
export class Gone extends Error {}

/** The server does not accept the token of this page. */
export class Stranger extends Error {}

/** The server says no, in its own words. */
export class Refused extends Error {}

const TOKEN = "tm2tfr-playground-token";
/** The name by which the server tells this page from others, which get their turns as well. */
const PAGE = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The token: of the address, or the one that an earlier address had, for links, which carry none. */
export function token(): string {
  const here = new URLSearchParams(location.search).get("token");
  try {
    if (here === null) return localStorage.getItem(TOKEN) ?? "";
    localStorage.setItem(TOKEN, here);
  } catch {
    // no storage here
  }
  return here ?? "";
}

/** The formats that are read as text, in groups: the title of each group, and of each format its name and its title. */
export type Formats = [string, [string, string][]][];

export class Api {
  constructor(private readonly token: string) {}

  async answer(question: Question, signal: AbortSignal): Promise<Answer> {
    return (await (await this.post("api/answer", question, signal)).json()) as Answer;
  }

  async formats(): Promise<Formats> {
    return (await (await this.ask("api/formats", {})).json()) as Formats;
  }

  async shipped(): Promise<Shipped[]> {
    return (await (await this.ask("api/shipped", {})).json()) as Shipped[];
  }

  /** The text of a shipped source, its lines ended as the editor ends them. */
  async source(name: string): Promise<string> {
    return lines(await (await this.ask(`api/shipped/${encodeURIComponent(name)}`, {})).text());
  }

  /** The number of questions that are answered before the newest one of this page; null: it does not wait for its turn. */
  async before(): Promise<number | null> {
    return ((await (await this.ask("api/waiting", {})).json()) as { before: number | null }).before;
  }

  /** What was named where the server was started, as a link carries it. */
  async given(): Promise<string> {
    return (await this.ask("api/given", {})).text();
  }

  /** A file to download, and its name; `to` is the format of a source, as it is if empty. */
  async exported(question: Question, what: Export, to: string): Promise<[Blob, string]> {
    const response = await this.post("api/export", { ...question, what, ...(to ? { to } : {}) });
    const name = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
    return [await response.blob(), name ?? what];
  }

  private post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
    const headers = { "Content-Type": "application/json" };
    return this.ask(path, { method: "POST", body: JSON.stringify(body), headers, ...(signal ? { signal } : {}) });
  }

  private async ask(path: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers: { ...init.headers, "X-Tm2tfr-Token": this.token, "X-Tm2tfr-Page": PAGE }, credentials: "omit", cache: "no-store" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new Gone("the server does not answer");
    }
    if (response.ok) return response;
    if (response.status === 401 || response.status === 403) throw new Stranger(await said(response));
    if (response.status === 429 || response.status === 503) throw new Busy(await said(response));
    throw new Refused(await said(response));
  }
}

/** A text with each line ended by a line feed alone. */
export function lines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** What a response that is not OK says. */
async function said(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error, diagnostics } = JSON.parse(text) as { error?: unknown; diagnostics?: Diagnostic[] };
    if (typeof error === "string") return error;
    const first = diagnostics?.[0];
    if (first) return first.remedy ? `${first.what}: ${first.remedy}` : first.what;
  } catch {
    // plain text
  }
  return text.slice(0, 500) || `the server answers ${response.status}`;
}
