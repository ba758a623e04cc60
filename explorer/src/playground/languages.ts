// Colours for the sources: YAML by CodeMirror's own grammar, the others by what they have in common.

import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, type StreamParser, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";

const WORDS: Record<string, Set<string>> = {
  rasp: new Set("select aggregate selector_width indices tokens length round if else and or not in for def return True False full_s".split(" ")),
  srasp: new Set("latest rightmost leftmost earliest true false and or not sum count".split(" ").map((word) => word)),
  logic: new Set("since until previous next once eventually always historically true false and or not first last".split(" ")),
  circuit: new Set("INPUT OUTPUT AND OR NOT NAND NOR XOR XNOR BUF BUFF DFF model inputs outputs names end".split(" ")),
};

/** Comments, strings, numbers and the words of a language. */
function simple(words: Set<string>): StreamParser<unknown> {
  return {
    token(stream) {
      if (stream.match(/^#.*|^\/\/.*/)) return "comment";
      if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'(?:[^'\\]|\\.)*'?/)) return "string";
      if (stream.match(/^\d+(?:\.\d+)?/)) return "number";
      const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
      if (word) return words.has((word as RegExpMatchArray)[0]) ? "keyword" : null;
      stream.next();
      return null;
    },
    languageData: { commentTokens: { line: "#" } },
  };
}

/** The language of a format, or of a kind of source. */
export function language(format: string | null): Extension {
  if (format === null || /yaml|yml|turing|tm/.test(format)) return yaml();
  const name = Object.keys(WORDS).find((each) => format === each) ?? (format === "tl" ? "logic" : /rasp/.test(format) ? "srasp" : "circuit");
  return StreamLanguage.define(simple(WORDS[name]!));
}

/** The colours are the explorer's, which has light and dark ones. */
export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, class: "code-comment" },
    { tag: [tags.keyword, tags.bool], class: "code-keyword" },
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: "code-name" },
    { tag: [tags.string, tags.special(tags.string)], class: "code-string" },
    { tag: tags.number, class: "code-number" },
    { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], class: "code-sign" },
  ]),
);
