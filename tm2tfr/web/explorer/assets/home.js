// Built from explorer/src; see explorer/README.md.
"use strict";
(() => {
  // src/live/refusals.ts
  var Refused = class extends Error {
    name = "Refused";
  };
  function counted(number3, noun) {
    return `${thousands(number3)} ${noun}${number3 === 1 ? "" : "s"}`;
  }
  function thousands(number3) {
    return number3.toLocaleString("en-US");
  }
  function quoted(text) {
    const mark2 = text.includes("'") && !text.includes('"') ? '"' : "'";
    let inside = "";
    for (const sign of text) inside += sign === "\\" || sign === mark2 ? `\\${sign}` : escaped(sign);
    return `${mark2}${inside}${mark2}`;
  }
  function visible(text) {
    return UNPRINTABLE.test(text) ? [...text].map(escaped).join("") : text;
  }
  var SHORT = { "\n": "\\n", "\r": "\\r", "	": "\\t" };
  var UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
  function escaped(sign) {
    if (SHORT[sign]) return SHORT[sign];
    if (!UNPRINTABLE.test(sign)) return sign;
    const code2 = sign.codePointAt(0).toString(16);
    if (code2.length <= 2) return `\\x${code2.padStart(2, "0")}`;
    return code2.length <= 4 ? `\\u${code2.padStart(4, "0")}` : `\\U${code2.padStart(8, "0")}`;
  }

  // src/dom.ts
  function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    set(element, attributes);
    element.append(...children.filter((child) => child != null));
    return element;
  }
  function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    set(element, attributes);
    element.append(...children.filter((child) => child != null));
    return element;
  }
  function set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === null || value === void 0 || value === false) element.removeAttribute(name);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  function icon(path) {
    return svg("svg", { viewBox: "0 0 24 24", width: 24, height: 24, "aria-hidden": "true" }, svg("path", { d: path }));
  }
  function characterWidth(where) {
    const probe = el("span", { class: "mono", style: "position:absolute;visibility:hidden" }, "0".repeat(40));
    where.append(probe);
    const width = probe.getBoundingClientRect().width / 40;
    probe.remove();
    return width;
  }

  // src/controls.ts
  var PLAY = "M8 5v14l11-7z";
  var PAUSE = "M6 5h4v14H6zM14 5h4v14h-4z";
  function leavesFocus(root2, signal) {
    const prevent = (event) => {
      if (event.target.closest("button")) event.preventDefault();
    };
    root2.addEventListener("mousedown", prevent, signal ? { signal } : {});
  }

  // src/live/attention.ts
  function inSight(mask, position, length) {
    return [mask === "past" ? position : 0, mask === "future" ? position + 1 : length];
  }

  // src/data.ts
  var DUE = 0.8;
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    return (place) => column(buffer, place);
  }
  function textAt(buffers, place) {
    return new TextDecoder().decode(buffers(place));
  }
  function column(buffer, { type, at, count: count2 }) {
    const width = Number(type[1]);
    const part = buffer.slice(at, at + width * count2);
    switch (type) {
      case "u1":
        return new Uint8Array(part);
      case "i1":
        return new Int8Array(part);
      case "u2":
        return new Uint16Array(part);
      case "i2":
        return new Int16Array(part);
      case "i4":
        return new Int32Array(part);
      case "f8": {
        const planes = new Uint8Array(part);
        const bytes = new Uint8Array(planes.length);
        for (let plane = 0; plane < 8; plane++)
          for (let n = 0; n < count2; n++) bytes[8 * n + plane] = planes[plane * count2 + n];
        return new Float64Array(bytes.buffer);
      }
    }
  }
  var Sheet = class {
    constructor(spec, headings, buffers, texts) {
      this.texts = texts;
      this.columns = new Map(headings.map((heading) => [heading.name, { heading, values: buffers(spec[heading.name]) }]));
      this.token = headings[0].name;
      this.answered = headings.at(-1).name;
    }
    texts;
    columns;
    token;
    answered;
    /** The token at position i. */
    fed(i) {
      return this.text(this.token, i) ?? "⊥";
    }
    /** The token answered at position i. */
    answer(i) {
      return this.text(this.answered, i) ?? "⊥";
    }
    number(column2, i) {
      return this.columns.get(column2).values[i];
    }
    text(column2, i) {
      const n = this.columns.get(column2).values[i];
      return n === 0 ? null : this.texts[n - 1];
    }
    /** A cell as the table writes it. */
    cell(column2, i) {
      const { number: number3, signed } = this.columns.get(column2).heading;
      if (!number3) return this.text(column2, i) ?? "⊥";
      const value = this.number(column2, i);
      return signed && value > 0 ? `+${value}` : String(value).replace("-", "−");
    }
    /** The length of the longest text in a column. */
    widest(column2) {
      const { heading, values } = this.columns.get(column2);
      if (heading.number) {
        let longest2 = 2;
        for (const value of values) longest2 = Math.max(longest2, String(value).length);
        return longest2;
      }
      let longest = 1;
      for (const n of new Set(values)) longest = Math.max(longest, n ? this.texts[n - 1].length : 1);
      return longest;
    }
  };
  var LOOKS = 0.05;
  var Run = class {
    constructor(spec, buffers) {
      this.spec = spec;
      this.rows = new Sheet(spec.rows, spec.columns, buffers, spec.texts);
      this.expected = spec.expected ? new Sheet(spec.expected, spec.columns, buffers, spec.texts) : this.rows;
      this.stages = spec.stages.map(
        (written2) => new Map(
          written2.map(([n, { values, others }]) => [
            n,
            {
              values: buffers(values),
              others: new Map(Object.entries(others ?? {}).map(([i, row]) => [Number(i), row.map(Number)]))
            }
          ])
        )
      );
      this.steps = spec.steps.length;
      this.weights = spec.layers.map((layer) => layer.weights && textAt(buffers, layer.weights));
      this.unspecified = new Map(Object.entries(spec.unspecified).map(([name, place]) => [name, buffers(place)]));
      this.seen = spec.layers.map((layer) => layer.heads.map((head) => looks(head, spec.count, buffers)));
    }
    spec;
    rows;
    expected;
    /** The number of steps: layers, those of a loop once for each pass. A step counts from 0; -1 is the embedding. */
    steps;
    stages;
    seen;
    /** The weights of each layer, as `tm2tfr.listing` writes them; null where the page has the weights themselves. */
    weights;
    unspecified;
    get count() {
      return this.spec.count;
    }
    /** The position that answers the prompt, with the first token that the decoder generates. */
    get turn() {
      return this.spec.bos ? this.spec.prompt : this.spec.prompt - 1;
    }
    /** Whether position i carries a token that the decoder generated. */
    generated(i) {
      return i > this.turn;
    }
    /** Whether the run ends with the answer at position i. */
    ends(i) {
      return this.spec.stop.includes(this.rows.answer(i)) || !this.spec.stop.length && this.spec.T !== null && i === this.count - 1;
    }
    /** Where a head of the layer of a step looks from position i. */
    look(step, head, i) {
      const [layer, pass] = this.spec.steps[step];
      return this.seen[layer][head](i, pass);
    }
    /** The layer of a step, from 0; -1 for the embedding, the number of layers for what comes after the last. */
    layerOf(step) {
      return step < 0 ? -1 : this.spec.steps[step]?.[0] ?? this.spec.layers.length;
    }
    /** The step of each layer that goes with a chosen step: in the loop of that one the same pass, in any other the last. */
    stepsWith(chosen) {
      const { steps, loops, layers } = this.spec;
      const [layer, pass] = steps[chosen] ?? [-1, 0];
      const loop = loops.find(([first, last]) => first <= layer && layer <= last) ?? [0, -1];
      return layers.map((_, n) => steps.findLastIndex(([each, at]) => each === n && (at === pass || n < loop[0] || n > loop[1])));
    }
    /** The number of passes that a layer ran in; 0: no loop runs it. */
    passes(layer) {
      return this.spec.steps.findLast(([each]) => each === layer)?.[1] ?? 0;
    }
    /** What the cell should be, if the check found a difference; undefined if it is right or unchecked. */
    wrong(column2, i) {
      if (!this.spec.divergence || this.free(column2, i)) return void 0;
      if (i >= this.spec.checked) return column2 === this.spec.columns[0].name ? "⊥" : void 0;
      const due = this.expected.cell(column2, i);
      return due === this.rows.cell(column2, i) ? void 0 : due;
    }
    /** The length of the longest text in a column of the table; below it a wrong cell says what it should be. */
    widest(column2) {
      let longest = this.rows.widest(column2);
      for (let i = this.spec.divergence?.position ?? this.count; i < this.count; i++) {
        const due = this.wrong(column2, i);
        if (due !== void 0) longest = Math.max(longest, DUE * (due.length + 2));
      }
      return longest;
    }
    /** Whether a cell was compared with anything. */
    compared(column2, i) {
      return i < this.spec.checked && !this.free(column2, i);
    }
    /** Whether the reference says nothing of a cell. */
    free(column2, i) {
      return Boolean(this.unspecified.get(column2)?.[i]);
    }
    /** Subspace n after a stage (0: the embedding; then attention and feed-forward of each layer in turn). */
    value(n, stage, i) {
      const subspace = this.spec.subspaces[n];
      for (let s = Math.min(stage, 2 * this.steps); s >= 0; s--) {
        const column2 = this.stages[s].get(n);
        if (!column2) continue;
        const number3 = column2.values[i];
        if (!subspace.labels) return { number: number3, coordinates: [number3] };
        const coordinates = column2.others.get(i) ?? subspace.labels.map((_, k) => k + 1 === number3 ? 1 : 0);
        return { number: number3, coordinates };
      }
      return { number: 0, coordinates: subspace.labels ? subspace.labels.map(() => 0) : [0] };
    }
    /** Whether a step (-1: the embedding) changed subspace n at position i. */
    changed(n, step, i) {
      if (step >= this.steps) return false;
      const after2 = this.value(n, 2 * step + 2, i).coordinates;
      if (step < 0) return after2.some((value) => value !== 0);
      const before = this.value(n, 2 * step, i).coordinates;
      return after2.some((value, k) => !Object.is(value, before[k]) && value !== before[k]);
    }
  };
  function looks({ mask, seen, sharers, weights: all }, positions, buffers) {
    const sight = (i) => inSight(mask, i, positions);
    if (!seen) {
      return (i) => {
        const [start2, end2] = sight(i);
        return { uniform: true, sight: [start2, end2], winner: start2, count: end2 - start2, score: 0, runner: -1, runnerScore: 0, sharers: [], weights: null };
      };
    }
    const [winner, count2, score, runner, runnerScore] = ["winner", "count", "score", "runner", "runner_score"].map((name) => buffers(seen[name]));
    const soft = all ? buffers(all) : null;
    const starts = [0];
    for (let i = 0; soft && i < positions; i++) starts.push(starts[i] + sight(i)[1] - sight(i)[0]);
    return (i, pass) => {
      const n = Math.max(0, pass - 1) * positions + i;
      const [start2, end2] = sight(i);
      const uniform = count2[n] > 1 && count2[n] === end2 - start2;
      const first = Math.max(0, pass - 1) * starts.at(-1) + starts[soft ? i : 0];
      const weights = soft && soft.slice(first, first + end2 - start2);
      const most = weights && mostOf(weights, start2);
      return {
        uniform,
        sight: [start2, end2],
        winner: winner[n],
        count: uniform || !most ? count2[n] : most.length,
        score: score[n],
        runner: runner[n],
        runnerScore: runnerScore[n],
        sharers: most ?? sharers?.[n] ?? [winner[n]],
        weights
      };
    };
  }
  function mostOf(weights, start2) {
    const order2 = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a] || a - b);
    return order2.filter((k, n) => n === 0 || weights[k] >= LOOKS).map((k) => start2 + k);
  }
  function shares({ sharers, sight, weights }, most = Infinity) {
    const told = sharers.slice(0, most).map((j) => `${j}: ${hundredths(weights[j - sight[0]])}`);
    return told.join(", ") + (sharers.length > most ? ", …" : "");
  }
  function hundredths(weight) {
    return weight > 0.995 && weight < 1 ? "> 0.99" : String(Number(weight.toFixed(2)));
  }

  // src/history.ts
  var MARGIN = 3;
  var History = class {
    constructor(run2, blank) {
      this.run = run2;
      this.blank = blank;
      const { rows, spec } = run2;
      const word = spec.prompt - spec.lead;
      for (let n = 0; n < word; n++) this.write(n, -1, rows.fed(spec.lead + n));
      let [lowest, highest] = [0, Math.max(0, word - 1)];
      for (let n = 0; n < run2.count; n++) {
        const cell = this.written(n);
        if (cell !== null) this.write(cell, n, rows.text("b", n));
        const h = rows.number("h", n);
        if (Number.isInteger(h)) [lowest, highest] = [Math.min(lowest, h), Math.max(highest, h)];
      }
      [this.lowest, this.highest] = [lowest, highest];
    }
    run;
    blank;
    /** The first and the last cell of the input and of the head's path. */
    lowest;
    highest;
    writes = /* @__PURE__ */ new Map();
    /** The cell that the token at position i writes, null if there is none. */
    written(i) {
      const { rows, spec } = this.run;
      if (i <= spec.prompt || rows.text("b", i) === null) return null;
      const cell = rows.number("h", i - 1);
      return Number.isInteger(cell) ? cell : null;
    }
    /** The content of a cell before step i, undefined if nothing was ever written there. */
    symbol(cell, i) {
      const writes = this.writes.get(cell);
      if (!writes) return void 0;
      let [low, high] = [0, writes.at.length];
      while (low < high) {
        const middle = low + high >> 1;
        if (writes.at[middle] <= i) low = middle + 1;
        else high = middle;
      }
      return writes.symbol[low - 1];
    }
    /** The length of the longest symbol. */
    widest() {
      let longest = this.blank.length;
      for (const { symbol: symbol2 } of this.writes.values()) for (const text of symbol2) longest = Math.max(longest, text.length);
      return longest;
    }
    /** The stretch of at most this many cells that each row of the table shows, as `tm2tfr trace` chooses it. */
    stretches(window2) {
      const { run: run2, lowest, highest, blank } = this;
      const size = Math.min(window2, highest - lowest + 1);
      const margin = Math.min(MARGIN, size - 1 >> 1);
      const firsts = new Float64Array(run2.count);
      let first = lowest;
      for (let n = run2.spec.prompt + 1; n < run2.count; n++) {
        const h = run2.rows.number("h", n);
        if (Number.isInteger(h)) {
          first = Math.min(Math.max(first, h + margin + 1 - size), h - margin);
          first = Math.max(lowest, Math.min(first, highest + 1 - size));
        }
        firsts[n] = first;
      }
      return (i) => {
        if (!run2.generated(i)) return null;
        const [from, h] = [firsts[i], run2.rows.number("h", i)];
        const cells = Array.from({ length: size }, (_, k) => this.symbol(from + k, i) ?? blank);
        return { cells, head: Number.isInteger(h) ? h - from : null, cut: from > lowest || lowest < 0 };
      };
    }
    write(cell, at, symbol2) {
      const writes = this.writes.get(cell) ?? { at: [], symbol: [] };
      writes.at.push(at);
      writes.symbol.push(symbol2);
      this.writes.set(cell, writes);
    }
  };

  // src/live/decoder.ts
  function decoderOf(spec, buffers) {
    const { width, vocabulary, features, expressions, positions, outputs } = spec;
    const [counts, rows, columns, values] = [buffers(spec.counts), buffers(spec.rows), buffers(spec.columns), buffers(spec.values)];
    let matrix = 0;
    let entry = 0;
    const next = (height, across) => {
      const end2 = entry + counts[matrix++];
      const found = { height, width: across, rows: sums(rows, entry, end2), columns: sums(columns, entry, end2), values: Float64Array.from(values.subarray(entry, end2)) };
      entry = end2;
      return found;
    };
    const answers = outputs.length ? outputs.reduce((sum, { labels }) => sum + (labels ? labels.length : 1), 0) : vocabulary.length;
    const tokens = next(width, vocabulary.length);
    const place = next(width, features.length);
    const table = positions === null ? null : next(width, positions);
    const unembedding = next(answers, width);
    const unembeddingBias = next(answers, 1);
    const norm = (given) => given && { gain: next(width, 1), bias: next(width, 1), epsilon: given.epsilon };
    const norms = spec.layers.map((layer) => ({ attentionNorm: norm(layer.attention_norm), feedForwardNorm: norm(layer.feed_forward_norm) }));
    const last = norm(spec.norm);
    const layers = spec.layers.map(({ name, heads, hidden }, n) => {
      const own = heads.map(({ name: name2, mask, soft, inverse, keys, values: values2 }) => {
        const [query, key, value] = [next(keys, width), next(keys, width), next(values2, width)];
        return { name: name2, mask, soft, inverse, query, key, value, output: next(width, values2) };
      });
      const feedForward = hidden === null ? null : { input: next(hidden, width), inputBias: next(hidden, 1), output: next(width, hidden), outputBias: next(width, 1) };
      return { name, heads: own, feedForward, ...norms[n] };
    });
    const loops = spec.loops.map(({ first, last: last2, times: times3, until }) => ({ first, last: last2, times: times3, until: until ? next(1, width) : null }));
    const names = namesOf(aboutOf(spec, buffers));
    const { bos, stop } = spec;
    return { width, vocabulary, bos, stop, features, expressions, positions, outputs, layers, loops, norm: last, tokens, place, table, unembedding, unembeddingBias, names };
  }
  function aboutOf(spec, buffers) {
    return JSON.parse(textAt(buffers, spec.about));
  }
  function namesOf({ layout, layers }) {
    return {
      directions: layout.flatMap(({ name, labels }) => labels?.map((label) => `${name}[${label}]`) ?? [name]),
      units: layers.map(({ feed_forward: part }) => part?.units ?? [])
    };
  }
  function answered({ outputs, vocabulary }) {
    if (!outputs.length) return vocabulary;
    return outputs.flatMap(({ name, labels }) => labels === null ? [name] : labels.map((label) => `${name}[${label}]`));
  }
  function sums(steps, start2, end2) {
    const found = new Int32Array(end2 - start2);
    let sum = 0;
    for (let n = start2; n < end2; n++) {
      sum += steps[n];
      found[n - start2] = sum;
    }
    return found;
  }

  // src/live/python.ts
  function repr(value) {
    return special(value) ?? pointed(value.toExponential(), 16);
  }
  function special(value) {
    if (Object.is(value, -0)) return "-0";
    if (Number.isNaN(value)) return "nan";
    return Number.isFinite(value) ? null : value > 0 ? "inf" : "-inf";
  }
  function pointed(text, most, short = false) {
    const [mantissa, power2] = text.split("e");
    const exponent = Number(power2);
    const sign = mantissa.startsWith("-") ? "-" : "";
    let digits2 = mantissa.replace(/[-.]/g, "").replace(/0+$/, "") || "0";
    if (exponent < -4 || exponent >= most) {
      const fraction2 = digits2.slice(1) ? `.${digits2.slice(1)}` : "";
      return `${sign}${digits2[0]}${fraction2}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits2}`;
    digits2 = digits2.padEnd(exponent + 1, "0");
    const rest = digits2.slice(exponent + 1);
    return `${sign}${digits2.slice(0, exponent + 1)}${rest ? `.${rest}` : short ? "" : ".0"}`;
  }

  // src/broken/listing.ts
  var MASKED = { future: "future-masked", past: "past-masked", none: "unmasked" };
  var TABLED = 16;
  var plain = (text) => ({ text: visible(text), weight: null });
  function coefficient(value) {
    for (let below = 1; below <= 64; below *= 2) {
      const above = value * below;
      if (!Number.isInteger(above)) continue;
      if (Math.abs(above) >= 1e6) break;
      return below === 1 ? String(above + 0) : `${above}/${below}`;
    }
    return repr(value);
  }
  function termText(value, name) {
    if (!name) return coefficient(value);
    return Math.abs(value) === 1 ? value > 0 ? name : `-${name}` : `${coefficient(value)}·${name}`;
  }
  function form(terms, constant = null) {
    const pieces = [];
    const add = (name, weight) => {
      const text = termText(weight.value, name);
      const negative = text.startsWith("-");
      const before = pieces.length ? negative ? " - " : " + " : "";
      pieces.push({ before, text: visible(before && negative ? text.slice(1) : text), name, weight });
    };
    for (const { name, weight } of terms) add(name, weight);
    if (constant?.value) add("", constant);
    return pieces.length ? pieces : [plain("0")];
  }
  var weightsOf = (path, { rows, columns, values }) => Array.from(values, (value, n) => ({ path, row: rows[n], column: columns[n], value }));
  function grouped(path, matrix, by, names) {
    const found = Array.from({ length: by === "row" ? matrix.height : matrix.width }, () => []);
    for (const weight of weightsOf(path, matrix)) found[weight[by]].push({ name: names[by === "row" ? weight.column : weight.row], weight });
    return found;
  }
  var vectorOf = (path, matrix) => new Map(weightsOf(path, matrix).map((weight) => [weight.row, weight]));
  var sourced = (text, source) => [text, source && `[${source}]`].filter(Boolean).join(" ");
  function layerListing(decoder, about, number3) {
    const layer = decoder.layers[number3 - 1];
    const { name, meaning, source, heads, feed_forward: said } = about.layers[number3 - 1];
    const { directions } = decoder.names;
    const path = `layers.${number3}`;
    const told = sourced(meaning, source);
    const lines = [[plain(name ? `layer ${number3}: ${name}` : `layer ${number3}`)]];
    if (told) lines.push([plain(`  ${told}`)]);
    lines.push(...normed(decoder, layer.attentionNorm, "attention", `${path}.attention_norm`, "  "));
    layer.heads.forEach((head, k) => {
      const about2 = heads[k];
      const own = `${path}.heads.${k}`;
      lines.push([plain(`  ${sourced(`head ${quoted(about2.name)}`, about2.source)}: ${MASKED[head.mask]}, ${about2.weighting}`)]);
      if (!head.query.values.length && !head.key.values.length) lines.push([plain("    query = key = 0 (uniform attention)")]);
      for (const part2 of ["query", "key"]) grouped(`${own}.${part2}`, head[part2], "row", directions).forEach((terms, c) => lines.push([plain(`    ${part2}[${c}] = `), ...form(terms)]));
      const targets = grouped(`${own}.output`, head.output, "column", directions);
      grouped(`${own}.value`, head.value, "row", directions).forEach((terms, c) => lines.push([plain(`    value[${c}] = `), ...form(terms), plain(" → "), ...form(targets[c])]));
    });
    lines.push(...normed(decoder, layer.feedForwardNorm, "feed-forward", `${path}.feed_forward_norm`, "  "));
    const part = layer.feedForward;
    if (part) {
      const own = `${path}.feed_forward`;
      const bias = vectorOf(`${own}.input_bias`, part.inputBias);
      const writes = grouped(`${own}.output`, part.output, "column", directions);
      const units = said.units;
      lines.push([plain(`  feed-forward, ${units.length} hidden unit${units.length === 1 ? "" : "s"}`)]);
      grouped(`${own}.input`, part.input, "row", directions).forEach(
        (terms, u) => lines.push([plain(`    hidden[${u}] = ReLU(`), ...form(terms, bias.get(u)), plain(") → "), ...form(writes[u]), plain(units[u] ? `  # ${units[u]}` : "")])
      );
      const offset = weightsOf(`${own}.output_bias`, part.outputBias);
      if (offset.length) lines.push([plain("    bias → "), ...form(offset.map((weight) => ({ name: directions[weight.row], weight })))]);
    }
    return lines;
  }
  function normed(decoder, norm, before, path, indent) {
    if (!norm) return [];
    const column2 = (name) => {
      const weights = weightsOf(`${path}.${name}`, norm[name]);
      const values = new Set(weights.map(({ value }) => value));
      if (weights.length < norm[name].height) values.add(0);
      const head = plain(`${indent}  ${name}: `);
      if (values.size === 1) return [head, plain(`${coefficient([...values][0])} everywhere`)];
      return [head, ...form(weights.map((weight) => ({ name: decoder.names.directions[weight.row], weight })))];
    };
    return [[plain(`${indent}layer norm before ${before}, epsilon = ${repr(norm.epsilon)}`)], column2("gain"), column2("bias")];
  }
  function embeddingListing(decoder) {
    const { directions } = decoder.names;
    const lines = [[plain("embedding")]];
    grouped("token_embedding", decoder.tokens, "column", directions).forEach((terms, n) => lines.push([plain(`  token ${decoder.vocabulary[n]} → `), ...form(terms)]));
    grouped("position_embedding", decoder.place, "column", directions).forEach((terms, n) => lines.push([plain(`  position ${decoder.features[n]} → `), ...form(terms)]));
    if (!decoder.table) return lines;
    const positions = decoder.table.width;
    lines.push([plain(`  table of ${counted(positions, "position")}`)]);
    grouped("position_table", decoder.table, "column", directions).forEach((terms, i) => {
      if (positions > TABLED && i === positions - 1) lines.push([plain(`    … ${counted(positions - TABLED, "more position")}`)]);
      if (i < TABLED - 1 || i === positions - 1 || positions <= TABLED) lines.push([plain(`    at ${i} → `), ...form(terms)]);
    });
    return lines;
  }
  function unembeddingListing(decoder) {
    const bias = vectorOf("unembedding_bias", decoder.unembeddingBias);
    const names = answered(decoder);
    const lines = [...normed(decoder, decoder.norm, "the unembedding", "norm", ""), [plain("unembedding")]];
    grouped("unembedding", decoder.unembedding, "row", decoder.names.directions).forEach((terms, n) => lines.push([plain(`  logit ${names[n]} = `), ...form(terms, bias.get(n))]));
    return lines;
  }
  function textOf(lines) {
    return lines.map((line) => `${line.map(({ before, text }) => (before ?? "") + text).join("")}
`).join("");
  }

  // src/broken/weights.ts
  function matricesOf(decoder) {
    const found = /* @__PURE__ */ new Map();
    const norm = (path, part) => {
      if (part) found.set(`${path}.gain`, part.gain).set(`${path}.bias`, part.bias);
    };
    found.set("token_embedding", decoder.tokens).set("position_embedding", decoder.place);
    if (decoder.table) found.set("position_table", decoder.table);
    found.set("unembedding", decoder.unembedding).set("unembedding_bias", decoder.unembeddingBias);
    decoder.layers.forEach(({ attentionNorm, feedForwardNorm }, n) => {
      norm(`layers.${n + 1}.attention_norm`, attentionNorm);
      norm(`layers.${n + 1}.feed_forward_norm`, feedForwardNorm);
    });
    norm("norm", decoder.norm);
    decoder.layers.forEach(({ heads, feedForward: part }, n) => {
      heads.forEach((head, k) => {
        for (const name of ["query", "key", "value", "output"]) found.set(`layers.${n + 1}.heads.${k}.${name}`, head[name]);
      });
      if (!part) return;
      const path = `layers.${n + 1}.feed_forward`;
      found.set(`${path}.input`, part.input).set(`${path}.input_bias`, part.inputBias).set(`${path}.output`, part.output).set(`${path}.output_bias`, part.outputBias);
    });
    decoder.loops.forEach(({ until }, n) => until && found.set(`loops.${n + 1}.until`, until));
    return found;
  }
  function axesOf(decoder, path) {
    const matrices = matricesOf(decoder);
    const matrix = matrices.get(path);
    if (!matrix) throw new Refused(unknown(path, [...matrices.keys()]));
    const axis = (noun, size, names = []) => ({ noun, size, names });
    const { height, width } = matrix;
    const parts = path.split(".");
    const inner = parts.at(-2) === "feed_forward" ? "hidden unit" : "component";
    const stream = axis("direction", decoder.width, decoder.names.directions);
    const one = axis("column", 1);
    const answers = () => axis("answer", height, answered(decoder));
    const outer = {
      token_embedding: () => [stream, axis("token", width, decoder.vocabulary)],
      position_embedding: () => [stream, axis("position feature", width, decoder.features)],
      position_table: () => [stream, axis("position", width)],
      unembedding: () => [answers(), stream],
      unembedding_bias: () => [answers(), one]
    };
    const inside = {
      gain: () => [stream, one],
      bias: () => [stream, one],
      until: () => [axis("row", height), stream],
      input_bias: () => [axis(inner, height), one],
      output_bias: () => [stream, one],
      output: () => [stream, axis(inner, width)]
    };
    const known = (parts.length === 1 ? outer : inside)[parts.at(-1)];
    return known ? known() : [axis(inner, height), stream];
  }
  function unknown(path, known) {
    let owner = path;
    while (owner && !known.some((each) => each.startsWith(`${owner}.`))) owner = owner.slice(0, Math.max(0, owner.lastIndexOf(".")));
    const inside = owner.includes(".") ? known.filter((each) => each.startsWith(`${owner}.`)) : [];
    let found = near(path, inside.length ? inside : known, 3);
    if (!found.length) found = inside.slice(0, 3);
    const remedy = found.length ? `use ${found.map(quoted).join(" or ")}` : `use a path such as ${known[0]}`;
    return `no weight matrix is called ${quoted(path)}: ${remedy}; layers count from 1, heads of a layer from 0`;
  }
  function near(text, names, most) {
    const rated = names.map((name) => [distance(text.slice(0, 80), name.slice(0, 80)) / Math.max(text.length, name.length, 1), name]);
    return rated.filter(([far]) => far <= 0.5).sort(([a], [b]) => a - b).slice(0, most).map(([, name]) => name);
  }
  function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, n) => n);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1])));
      row = next;
    }
    return row[b.length];
  }
  function placeNames(decoder, { path, row, column: column2 }) {
    const [rows, columns] = axesOf(decoder, path);
    return [rows.names[row] ?? String(row), columns.names[column2] ?? String(column2)];
  }
  function placeText(decoder, change, layer = 0) {
    const own = `layers.${layer}.`;
    const path = layer && change.path.startsWith(own) ? change.path.slice(own.length) : change.path;
    return `${path}[${placeNames(decoder, change).join(", ")}]`;
  }
  function weightText(value) {
    for (const below of [2, 4, 8, 16, 32, 64]) if (!Number.isInteger(value) && Number.isInteger(value * below) && Math.abs(value * below) < 1e6) return `${value * below}/${below}`;
    return String(value);
  }

  // src/broken/card.ts
  var WeightsCard = class {
    /** number: 0 is the embedding, one more than the last layer the unembedding; called: what it is called; before: what stands above the listing. */
    constructor(broken, number3, called, before) {
      this.broken = broken;
      this.number = number3;
      const id = `weight-${number3}`;
      this.field = el("input", { type: "text", class: "mono", id, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": `${id}-hint ${id}-error`, placeholder: this.example() });
      this.run = el("button", { type: "button", class: "small go", id: `${id}-run`, click: () => broken.start() }, "Run");
      this.error = el("p", { class: "weight-error", role: "alert", id: `${id}-error` });
      this.listing.addEventListener("click", (event) => this.chosen(event.target));
      this.listing.addEventListener("keydown", (event) => this.moved(event));
      const form2 = el(
        "form",
        { class: "change", submit: (event) => this.submit(event) },
        el("p", { class: "hint", id: `${id}-hint` }, "Break it: click a number, or write a weight and its new value. Then run: the check names the wrong layer."),
        el("label", { for: id }, "change "),
        this.field,
        el("button", { type: "submit", class: "small" }, "Set"),
        this.run,
        this.error
      );
      set(this.listing, { "aria-label": `the weights of ${called}` });
      this.element = el("div", { class: "weights", hidden: true }, ...before, form2, this.listing);
      this.button = el("button", { type: "button", class: "small", "aria-expanded": "false", "aria-label": `the weights of ${called}`, click: () => this.toggle(!broken.open.has(number3)) }, "weights");
      if (broken.open.has(number3)) this.toggle(true);
    }
    broken;
    number;
    /** The button that opens and closes them, and what it opens. */
    button;
    element;
    listing = el("pre", { class: "terms", tabindex: 0 });
    field;
    run;
    error;
    drawn = null;
    toggle(open) {
      if (open) this.broken.open.add(this.number);
      else this.broken.open.delete(this.number);
      this.element.hidden = !open;
      set(this.button, { "aria-expanded": String(open) });
      this.draw();
    }
    /** Open it, and let a weight be written. */
    invite() {
      this.toggle(true);
      this.element.closest("li")?.scrollIntoView({ block: "nearest" });
      this.field.focus();
    }
    draw() {
      const { broken } = this;
      this.run.classList.toggle("wanted", broken.stale);
      if (this.element.hidden || this.drawn === broken.listed) return;
      const focused = document.activeElement?.dataset["place"];
      this.drawn = broken.listed;
      const lines = this.lines().map((line) => el("span", { class: "line" }, ...line.flatMap((piece) => this.nodes(piece)), "\n"));
      this.listing.replaceChildren(...lines);
      const terms = this.terms();
      set(terms[0] ?? this.listing, { tabindex: 0 });
      if (focused !== void 0) terms.find((term) => term.dataset["place"] === focused)?.focus({ preventScroll: true });
    }
    lines() {
      const { listed, about } = this.broken;
      if (this.number === 0) return embeddingListing(listed);
      return this.number > listed.layers.length ? unembeddingListing(listed) : layerListing(listed, about, this.number);
    }
    nodes({ before, text, name, weight }) {
      if (weight === null) return [text];
      const { broken } = this;
      const place = placeText(broken.right, weight, this.number);
      const change = broken.changeOf(weight);
      const term = (shown2, value) => el("button", { type: "button", class: "term", tabindex: -1, "data-place": place, "data-value": weightText(value), title: `${place} = ${weightText(value)}: click to change it` }, shown2);
      if (!change) return [before ?? "", term(text, weight.value)];
      const old = broken.old(weight);
      return [
        before ? " + " : "",
        ...old === 0 ? [] : [el("del", {}, termText(old, name)), " "],
        el("ins", {}, term(change.value === 0 ? "0" : termText(change.value, name), change.value))
      ];
    }
    terms() {
      return [...this.listing.querySelectorAll(".term")];
    }
    /** Put the weight that is clicked into the field, with its value selected. */
    chosen(target) {
      const term = target.closest(".term");
      if (!term) return;
      const place = `${term.dataset["place"]} = `;
      this.field.value = place + term.dataset["value"];
      this.field.focus();
      this.field.setSelectionRange(place.length, this.field.value.length);
      this.complain("");
    }
    /** Among the terms the arrows go from one to the next. */
    moved(event) {
      const terms = this.terms();
      const here = terms.indexOf(document.activeElement);
      const step = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: terms.length - 1 };
      const next = step[event.key];
      if (here < 0 || next === void 0) return;
      event.preventDefault();
      const term = terms[Math.max(0, Math.min(terms.length - 1, next))];
      set(terms[here], { tabindex: -1 });
      set(term, { tabindex: 0 });
      term.focus();
    }
    submit(event) {
      event.preventDefault();
      try {
        this.broken.write(this.field.value, this.number <= this.broken.right.layers.length ? this.number : 0);
        this.complain("");
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.complain(error.message);
      }
    }
    complain(text) {
      this.error.textContent = text;
      set(this.field, { "aria-invalid": text ? "true" : null });
    }
    example() {
      const weight = this.lines().flat().find((piece) => piece.weight)?.weight;
      return weight ? `${placeText(this.broken.right, weight, this.number)} = ${weightText(-weight.value)}` : "";
    }
  };

  // src/live/truth/atoms.ts
  var Fraction = class {
    over;
    under;
    constructor(over, under = 1n) {
      const common = under === 1n ? 1n : gcd(over < 0n ? -over : over, under < 0n ? -under : under) * (under < 0n ? -1n : 1n);
      [this.over, this.under] = [over / common, under / common];
    }
  };
  var ValueRefused = class extends Error {
    name = "ValueRefused";
  };
  var MOST_BITS = 1 << 16;
  var MOST_LETTERS = 1 << 20;
  function gcd(a, b) {
    while (b) [a, b] = [b, a % b];
    return a || 1n;
  }
  function shownAtom(value) {
    if (typeof value === "string") return value;
    if (typeof value === "boolean") return value ? "T" : "F";
    if (typeof value === "bigint") return String(value);
    return value.under === 1n ? String(value.over) : `${value.over}/${value.under}`;
  }
  function shown(value) {
    if (typeof value === "string") return `"${value}"`;
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "bigint") return String(value);
    if (value.under === 1n) return `${value.over}.0`;
    let [digits2, rest] = [0, value.under];
    while ([0n, 2n, 4n, 5n, 6n, 8n].includes(rest % 10n) && rest > 1n && digits2 < 60) {
      rest /= gcd(rest, 10n);
      digits2++;
    }
    if (rest !== 1n) return shownAtom(value);
    const size = value.over < 0n ? -value.over : value.over;
    const decimal = String(size * 10n ** BigInt(digits2) / value.under).padStart(digits2 + 1, "0");
    return `${value.over < 0n ? "-" : ""}${decimal.slice(0, -digits2)}.${decimal.slice(-digits2)}`;
  }
  function kind(value) {
    if (typeof value === "string") return "text";
    if (typeof value === "boolean") return "truth value";
    return typeof value === "bigint" ? "whole number" : "float";
  }
  function refused(word, ...values) {
    return new ValueRefused(`'${word}' cannot be applied to ${values.map((v) => `the ${kind(v)} ${shown(v)}`).join(" and ")}`);
  }
  function whole(value) {
    return typeof value === "boolean" ? BigInt(value) : value;
  }
  function fraction(value) {
    return value instanceof Fraction ? value : new Fraction(whole(value));
  }
  function exactly(a, b, wholes, fractions) {
    if (a instanceof Fraction || b instanceof Fraction) return fractions(fraction(a), fraction(b));
    return wholes(whole(a), whole(b));
  }
  function two(sign, a, b) {
    if (typeof a === "string" || typeof b === "string") throw refused(sign, a, b);
    return [a, b];
  }
  function floored(a, b) {
    const quotient = a / b;
    return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
  }
  function floorOf(a, b) {
    return floored(a.over * b.under, a.under * b.over);
  }
  function isZero(value) {
    return value instanceof Fraction ? value.over === 0n : !value;
  }
  function bits(number3) {
    const digits2 = absolute(number3).toString(16);
    return digits2 === "0" ? 0 : 4 * (digits2.length - 1) + parseInt(digits2[0], 16).toString(2).length;
  }
  function bounded(value) {
    const { over, under } = fraction(value);
    if (bits(over) + bits(under) > MOST_BITS) throw tooManyDigits();
    return value;
  }
  function tooManyDigits() {
    return new ValueRefused(`the number has more than ${thousands(MOST_BITS)} binary digits`);
  }
  function tooLong() {
    return new ValueRefused(`the text has more than ${thousands(MOST_LETTERS)} characters`);
  }
  function letters(text) {
    let count2 = 0;
    for (const _ of text) count2++;
    return count2;
  }
  function plus(a, b) {
    return exactly(a, b, (x, y) => x + y, (x, y) => new Fraction(x.over * y.under + y.over * x.under, x.under * y.under));
  }
  function times(a, b) {
    return exactly(a, b, (x, y) => x * y, (x, y) => new Fraction(x.over * y.over, x.under * y.under));
  }
  function negated(a) {
    return a instanceof Fraction ? new Fraction(-a.over, a.under) : -whole(a);
  }
  function power(a, b) {
    const [base, exponent] = two("^", a, b).map(fraction);
    if (base.over === 0n && exponent.over < 0n) throw new ValueRefused("division by zero: a power of 0 with a negative exponent");
    const size = Math.max(bits(base.over), bits(base.under));
    if (size > 1 && BigInt(size) * absolute(exponent.over) > BigInt(MOST_BITS) * exponent.under) throw tooManyDigits();
    if (exponent.under === 1n) {
      const made = raised(base, exponent.over);
      return a instanceof Fraction || b instanceof Fraction || exponent.over < 0n ? made : made.over;
    }
    if (base.over < 0n) throw new ValueRefused(`${shown(a)} ^ ${shown(b)} is not a real number`);
    const [over, under] = [root(base.over, exponent.under), root(base.under, exponent.under)];
    if (over === null || under === null) throw new ValueRefused(`${shown(a)} ^ ${shown(b)} is irrational, and values are exact`);
    return raised(new Fraction(over, under || 1n), exponent.over);
  }
  function raised({ over, under }, exponent) {
    if (exponent >= 0n) return new Fraction(rise(over, exponent), rise(under, exponent));
    return new Fraction(rise(under, -exponent), rise(over, -exponent));
  }
  function rise(base, exponent) {
    if (base === 0n || base === 1n) return exponent === 0n ? 1n : base;
    return base === -1n ? exponent % 2n ? -1n : 1n : base ** exponent;
  }
  function absolute(number3) {
    return number3 < 0n ? -number3 : number3;
  }
  function root(number3, degree) {
    if (number3 < 2n) return number3;
    if (degree >= BigInt(bits(number3))) return null;
    let [low, high] = [0n, 1n << BigInt(bits(number3)) / degree + 1n];
    while (low < high) {
      const middle = (low + high) / 2n;
      if (middle ** degree < number3) low = middle + 1n;
      else high = middle;
    }
    return low ** degree === number3 ? low : null;
  }
  function rounded(a) {
    if (!(a instanceof Fraction)) return whole(a);
    const below = floored(a.over, a.under);
    const twice = 2n * (a.over - below * a.under);
    if (twice === a.under) return below % 2n === 0n ? below : below + 1n;
    return twice < a.under ? below : below + 1n;
  }
  function equal(a, b) {
    if (typeof a === "string" || typeof b === "string") return a === b;
    const [x, y] = [fraction(a), fraction(b)];
    return x.over === y.over && x.under === y.under;
  }
  function order(a, b) {
    if (typeof a === "string" && typeof b === "string") return byCodePoint(a, b);
    const [x, y] = [fraction(a), fraction(b)];
    const difference = x.over * y.under - y.over * x.under;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  function byCodePoint(a, b) {
    const [x, y] = [[...a], [...b]];
    for (let n = 0; n < Math.min(x.length, y.length); n++) if (x[n] !== y[n]) return x[n].codePointAt(0) - y[n].codePointAt(0);
    return x.length - y.length;
  }
  function compare(sign, holds) {
    return (a, b) => {
      if (typeof a === "string" !== (typeof b === "string")) throw refused(sign, a, b);
      return holds(order(a, b));
    };
  }
  function truthy(value) {
    return typeof value === "string" ? value !== "" : !isZero(value);
  }
  function number(word, of) {
    return (a) => {
      if (typeof a === "string") throw refused(word, a);
      return of(a);
    };
  }
  var UNARY = {
    not: (a) => !truthy(a),
    neg: number("-", negated),
    pos: number("+", (a) => a instanceof Fraction ? a : whole(a)),
    round: number("round", rounded),
    indicator: (a) => truthy(a) ? 1n : 0n
  };
  var BINARY = {
    "+": (a, b) => {
      if (typeof a === "string" && typeof b === "string") {
        if (letters(a) + letters(b) > MOST_LETTERS) throw tooLong();
        return a + b;
      }
      return plus(...two("+", a, b));
    },
    "-": (a, b) => {
      const [x, y] = two("-", a, b);
      return plus(x, negated(y));
    },
    "*": (a, b) => {
      const [text, count2] = typeof a === "string" ? [a, b] : [b, a];
      if (typeof text !== "string") return bounded(times(...two("*", a, b)));
      if (typeof count2 === "string" || count2 instanceof Fraction) throw refused("*", a, b);
      const many = whole(count2) < 0n ? 0n : whole(count2);
      if (BigInt(letters(text)) * many > BigInt(MOST_LETTERS)) throw tooLong();
      return text ? text.repeat(Number(many)) : "";
    },
    "/": (a, b) => {
      const [x, y] = two("/", a, b).map(fraction);
      if (isZero(y)) throw new ValueRefused("division by zero");
      return new Fraction(x.over * y.under, x.under * y.over);
    },
    "//": (a, b) => {
      const [x, y] = two("//", a, b);
      if (isZero(y)) throw new ValueRefused("division by zero");
      return exactly(x, y, floored, (p, q) => new Fraction(floorOf(p, q)));
    },
    "%": (a, b) => {
      const [x, y] = two("%", a, b);
      if (isZero(y)) throw new ValueRefused("remainder of a division by zero");
      return exactly(
        x,
        y,
        (p, q) => p - q * floored(p, q),
        (p, q) => fraction(plus(p, negated(times(q, floorOf(p, q)))))
      );
    },
    "^": power,
    "==": equal,
    "<": compare("<", (order2) => order2 < 0),
    "<=": compare("<=", (order2) => order2 <= 0),
    ">": compare(">", (order2) => order2 > 0),
    ">=": compare(">=", (order2) => order2 >= 0),
    and: (a, b) => truthy(a) && truthy(b),
    or: (a, b) => truthy(a) || truthy(b)
  };
  var RELATIONS = { ...BINARY, "!=": (a, b) => !equal(a, b) };

  // src/live/overflow.ts
  var MOST_POSITIONS = 2 ** 31;

  // src/live/dense.ts
  var ONE = Float64Array.of(1);

  // src/broken/cause.ts
  var SLACK = 8 * Number.EPSILON;

  // src/live/worker.ts
  function weightsOf2({ decoder }, buffers) {
    if (decoder.none !== void 0) throw new Error(decoder.none);
    return [decoderOf(decoder, buffers), aboutOf(decoder, buffers)];
  }

  // src/words.ts
  function math(text) {
    const nodes = [];
    let last = 0;
    for (const match of text.matchAll(/_\{([^}]*)\}|_([A-Za-z0-9*]+)|\^(\d+)/g)) {
      if (match.index > last) nodes.push(document.createTextNode(text.slice(last, match.index)));
      const low = match[1] ?? match[2];
      nodes.push(low === void 0 ? el("sup", {}, match[3]) : el("sub", {}, low));
      last = match.index + match[0].length;
    }
    if (last < text.length) nodes.push(document.createTextNode(text.slice(last)));
    return nodes;
  }
  function plainMath(text) {
    return text.split(/(?<=⟩)_([ij])/).map((part, n) => n % 2 ? el("sub", {}, part) : document.createTextNode(part));
  }
  function typesetter({ labels }) {
    return labels ? plainMath : math;
  }
  function symbolOf(name) {
    const match = /^e_(\w)(?:\((.*)\))?$/.exec(name);
    return match ? match[2] ? `${match[1]}_{${match[2]}}` : match[1] : name;
  }
  function number2(value, denominators) {
    if (Number.isInteger(value)) return String(value).replace("-", "−");
    for (const below of denominators) {
      const above = Math.round(value * below);
      if (above !== 0 && above / below === value) return `${above}/${below}`.replace("-", "−");
    }
    return digits(value);
  }
  function digits(value, precision = 6) {
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value).replace("-", "−");
    return String(Number(value.toPrecision(precision))).replace("-", "−");
  }
  function apart(score, runner) {
    let precision = 6;
    while (precision < 17 && score !== runner && digits(score, precision) === digits(runner, precision)) precision++;
    return [digits(score, precision), digits(runner, precision)];
  }
  function blamedLayer({ divergence, layers }) {
    const [what = ""] = divergence?.cause ?? [];
    if (what.startsWith("embedding ")) return 0;
    const layer = Number(/^layer (\d+) /.exec(what)?.[1] ?? 0);
    return layer >= 1 && layer <= layers.length ? layer : null;
  }
  function stepNamed(run2, step) {
    if (step < 0) return "the embedding";
    if (step >= run2.steps) return "the outputs";
    const [layer, pass] = run2.spec.steps[step];
    return `layer ${layer + 1}${pass ? `, pass ${pass}` : ""}`;
  }
  function words({ spec }, subspace, value, i) {
    if (!subspace.labels) return number2(value.number, spec.labels ? [i + 1, spec.count, spec.count - i] : [i + 1]);
    if (value.number > 0) return subspace.labels[value.number - 1];
    if (value.number === 0) return "⊥";
    const terms = value.coordinates.flatMap((v, k) => v ? [`${v === 1 ? "" : `${digits(v)}·`}${subspace.labels[k]}`] : []);
    return `⟨${terms.slice(0, 4).join(" + ")}${terms.length > 4 ? " + …" : ""}⟩`;
  }
  function shortened(text, most) {
    const signs = [...text];
    if (signs.length <= most) return text;
    const end2 = Math.ceil(0.7 * (most - 1));
    return `${signs.slice(0, most - 1 - end2).join("")}…${signs.slice(-end2).join("")}`;
  }
  function count(n, noun) {
    return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  }
  var MOVES = { "-1": "L", "0": "S", "1": "R" };
  var MOVED = { "-1": "moved left", "0": "did not move", "1": "moved right" };
  function token(text) {
    return el("b", { class: "mono" }, text);
  }
  function described(run2, description, i) {
    const rule = description?.ruleAt(i);
    const place = ["The prompt describes the machine: ", token(run2.rows.fed(i))];
    if (!rule) return [...place, i > 0 ? "." : run2.rows.fed(i) === "one-way" ? " says that its tape has a left end." : " says that its tape is infinite in both directions."];
    if (i === rule.key) return [...place, " is the pair of the next rule: a state and the symbol under the head."];
    return [...place, " is the answer of the rule for ", token(rule.wanted), "."];
  }
  function ruled({ wanted, found }, atWall, answer, end2) {
    const next = end2 ? "the answer is " : "the next token is ";
    if (!found) return ["The prompt has no rule for ", token(wanted), `, and ${next}`, token(answer), "."];
    const says = ["The prompt's rule for ", token(wanted), " says ", token(found.answer)];
    if (found.answer === answer) return [...says, `, and that is ${end2 ? "the answer" : "the next token"}.`];
    const stays = atWall && answer === found.answer.replace(/-1\)$/, "0)");
    return [...says, stays ? `; at the left end the head stays, so ${next}` : `, but ${next}`, token(answer), "."];
  }
  function plainStory(run2, i) {
    const { rows } = run2;
    if (i < run2.turn) return ["The prompt: ", token(rows.fed(i)), ". The decoder's answer to it is not used."];
    const then = run2.ends(i) ? ", which ends the run." : ", which is the next token.";
    const given = i === run2.turn ? [token(rows.fed(i)), " ends the prompt."] : ["The decoder is given ", token(rows.fed(i)), "."];
    return [...given, " It answers with ", token(rows.answer(i)), then];
  }
  function story(run2, machine, description, i) {
    const { rows, spec } = run2;
    const answer = rows.answer(i);
    if (i < spec.lead) return described(run2, description, i);
    if (i < spec.prompt) return ["The prompt: ", token(rows.fed(i)), ` is in cell ${i - spec.lead} of the tape.`];
    if (i === spec.prompt)
      return [
        token("BOS"),
        ` ends the prompt. The decoder answers with ${spec.stop.includes(answer) ? "the verdict" : "the first triple"}: `,
        token(answer),
        "."
      ];
    const q = rows.text("q", i);
    const a = rows.text("a", i) ?? "⊥";
    const head = rows.number("h", i);
    const said = [
      "The machine went to ",
      token(q ?? "⊥"),
      ", wrote ",
      token(rows.text("b", i) ?? "⊥"),
      ` and ${MOVED[String(rows.number("m", i))] ?? "made an invalid move"}. It reads `,
      token(a),
      ` in cell ${String(head).replace("-", "−")}`
    ];
    const end2 = spec.stop.includes(answer);
    const lookup = description?.lookup(i);
    if (lookup) return [...said, ". ", ...ruled(lookup, machine?.tape === "one-way" && head === 0, answer, end2)];
    const rule = machine && q !== null ? ruleAt(machine, q, a) : void 0;
    if (machine && rule) {
      const [, , r, b, m] = rule;
      const why = `δ(${q}, ${a}) = (${machine.states[r].name}, ${b}, ${MOVES[String(m)]})`;
      const triple = (move) => `(${machine.states[r].name},${b},${move > 0 ? "+" : ""}${move})`;
      let link = answer === triple(m) ? ", so the next token is " : ", but the next token is ";
      if (end2) link = ", and the answer is ";
      else if (machine.tape === "one-way" && head === 0 && m < 0 && answer === triple(0)) link = "; at the left end the head stays, so the next token is ";
      return [...said, ": ", token(why), link, token(answer), "."];
    }
    return [...said, end2 ? ": the answer is " : ": the next token is ", token(answer), "."];
  }
  function ruleAt(machine, state, symbol2) {
    const q = machine.states.findIndex(({ name }) => name === state);
    return machine.rules.find((rule) => rule[0] === q && rule[1] === symbol2);
  }

  // src/strip.ts
  var FAINTEST = 0.18;
  var MOST = 60;
  var LANE = 26;
  var LOWEST = 42;
  var DASHES = ["", "9 4", "2.5 4", "13 4 2.5 4", "6 3 2 3 2 3", "1.5 2.5", "18 4"];
  var SPREAD = 34;
  var WIDE = { gap: 9, omitted: 50, around: 18, least: 40, arrow: 34, lettering: 1 };
  var CLOSE = { gap: 6, omitted: 50, around: 14, least: 30, arrow: 30, lettering: 1 };
  var MEDIUM = { gap: 5, omitted: 44, around: 9, least: 26, arrow: 26, lettering: 0.9 };
  var LIMITS = [26, 20, 16, 14, 12, 10, 8, 6];
  var EDGE = 6;
  var NARROW = { gap: 4, omitted: 38, around: 7, least: 24, arrow: 17, lettering: 0.8 };
  var Strip = class {
    constructor(run2, store, circuit, description = null, ends = []) {
      this.run = run2;
      this.store = store;
      this.circuit = circuit;
      this.description = description;
      this.ends = ends;
      this.labels = run2.spec.labels;
      this.field.append(this.arcs, this.chips);
      this.field.classList.toggle("answered", this.labels);
      const typeset = typesetter(run2.spec);
      this.heads = run2.spec.layers.flatMap(
        (layer, l) => layer.heads.map((head, k) => ({ layer: l, head: k, label: `${l + 1}.${k + 1}`, name: head.name }))
      );
      const key = el(
        "ul",
        { class: "key", "aria-label": "Heads" },
        ...this.heads.map(
          ({ label, name, layer }, n) => el("li", {}, el("button", { type: "button", class: `hue${n % 7}`, click: () => store.set({ layer: run2.stepsWith(store.now.layer)[layer] }) }, sample(n), el("b", {}, label), el("span", {}, ...typeset(name))))
        )
      );
      this.element = el(
        "section",
        { class: "panel strip-panel", "aria-label": this.labels ? "Tokens and answers" : "What the decoder knows" },
        this.labels ? el("h2", {}, "What the decoder reads and answers ", el("span", { class: "check" }, `below the tokens: ${run2.spec.columns[1].name}${run2.spec.softmax && `; ${run2.spec.softmax}: an arc is as strong as its weight`}`)) : el("h2", {}, `What the decoder knows: its ${circuit ? "bits" : "tokens"}`),
        el("div", { class: "scroll", tabindex: 0, "aria-label": "Tokens and where the heads look" }, this.field),
        key
      );
    }
    run;
    store;
    circuit;
    description;
    ends;
    element;
    field = el("div", { class: "field" });
    chips = el("ol", { class: "chips" });
    arcs = svg("svg", { class: "arcs", role: "img" });
    heads;
    /** Whether every position is there from the beginning, with its answer below it. */
    labels;
    /** The heads that are pointed at; null: none are. */
    lit = null;
    scale = 8;
    room = 600;
    sizes = WIDE;
    limit = Infinity;
    /** Measure the width of a character and of the panel. */
    measure() {
      this.scale = characterWidth(this.element);
      this.room = this.field.parentElement.clientWidth - 6;
    }
    /** pointed: the position and the heads that are pointed at, in place of the position. */
    draw(position, layer, pointed2) {
      const { run: run2 } = this;
      const i = Math.min(pointed2?.i ?? position, run2.count - 1);
      this.lit = pointed2 ? new Set(pointed2.heads.map(([l, k]) => `${l + 1}.${k + 1}`)) : null;
      this.field.classList.toggle("pointed", this.lit !== null && this.lit.size > 0);
      const steps = run2.stepsWith(layer);
      const looks3 = this.heads.map(({ layer: l, head }) => run2.look(steps[l], head, i));
      const chips = this.layOut(i, looks3);
      const focused = this.chips.contains(document.activeElement);
      const items = [];
      let before = -1;
      for (const chip of chips) {
        if (chip.i > before + 1 && this.gaps(chip.i, i)) items.push(this.omitted(before, chip));
        items.push(this.chip(chip, i));
        before = chip.i;
      }
      this.chips.replaceChildren(...items);
      if (focused) this.chips.querySelector("[aria-current]")?.focus({ preventScroll: true });
      const width = end(chips) + 4;
      this.field.style.width = `${width}px`;
      this.drawArcs(i, looks3, chips, width, run2.layerOf(layer));
      if (width <= this.room + 6) return;
      const { left } = chips.find((chip) => chip.i === i);
      this.field.parentElement.scrollLeft = this.labels ? left - this.room / 2 : width;
    }
    /** The number of positions that can be shown: those so far and the answer, or all. */
    total(i) {
      return this.labels ? this.run.count : i + 2;
    }
    /** Whether positions may be omitted before position n. */
    gaps(n, i) {
      return this.labels || n <= i;
    }
    shown(i, now) {
      return shortened(this.token(i, now), this.limit);
    }
    token(i, now) {
      return i > now && !this.labels ? this.run.rows.answer(now) : this.run.rows.fed(i);
    }
    /** Where the chips are: all positions if there is room, otherwise the current one, those attended to, and the latest. */
    layOut(i, looks3) {
      const { room } = this;
      this.limit = Infinity;
      const chosen = new Set(this.labels ? [0, i, this.run.count - 1] : [i, i + 1]);
      for (const look of looks3) if (!look.uniform) look.sharers.slice(0, 4).forEach((j) => chosen.add(j));
      const rule = this.description?.lookup(i)?.found;
      if (rule) chosen.add(rule.key);
      for (const sizes of this.total(i) - 2 < MOST ? [WIDE, CLOSE, MEDIUM] : []) {
        this.sizes = sizes;
        const all = this.placed(Array.from({ length: this.total(i) }, (_, n) => n), i);
        if (end(all) <= room) return this.written(this.labels ? this.spread(all, i) : all);
      }
      this.sizes = WIDE;
      let chips = this.placed([...chosen], i);
      if (end(chips) > room && this.fold(chosen, i)) chips = this.placed([...chosen], i);
      if (end(chips) > room) {
        this.sizes = NARROW;
        chips = this.placed([...chosen], i);
        for (const limit of LIMITS) {
          if (end(chips) <= room) break;
          this.limit = limit;
          chips = this.placed([...chosen], i);
        }
      }
      for (const n of [...chosen].map((k) => k - 1)) {
        if (n < 0 || chosen.has(n) || n > 0 && !chosen.has(n - 1) || n < this.run.spec.lead && i >= this.run.spec.lead) continue;
        const more = this.placed([...chosen, n], i);
        if (end(more) > Math.max(room, end(chips))) continue;
        chosen.add(n);
        chips = more;
      }
      const { lead } = this.run.spec;
      const near2 = Array.from({ length: MOST }, (_, k) => this.labels ? [i - 1 - k, i + 1 + k] : [i - 1 - k]).flat();
      for (const n of [0, ...near2.filter((each) => each >= 0 && each < this.total(i))]) {
        if (chosen.has(n) || n < (i < lead ? 0 : lead)) continue;
        const more = this.placed([...chosen, n], i);
        if (end(more) > room) break;
        chosen.add(n);
        chips = more;
      }
      return this.written(chips);
    }
    /** Move chips apart where there is room, so that arcs between a few of them can be told apart. */
    spread(chips, i) {
      const more = Math.min(SPREAD, (0.8 * this.room - end(chips)) / chips.length);
      if (more <= 0) return chips;
      this.sizes = { ...this.sizes, gap: this.sizes.gap + more };
      return this.placed(chips.map((chip) => chip.i), i);
    }
    /** Leave out the machine's description, except for the rule that is looked up; say whether there was anything to leave out. */
    fold(chosen, i) {
      const before = chosen.size;
      const rule = this.description?.lookup(i)?.found;
      for (const n of chosen) if (n < Math.min(i, this.run.spec.lead) && n !== rule?.key && n !== rule?.value) chosen.delete(n);
      return chosen.size < before;
    }
    written(chips) {
      this.field.classList.toggle("tight", this.sizes === NARROW);
      this.field.classList.toggle("medium", this.sizes === MEDIUM);
      this.field.style.setProperty("--arrow", `${this.sizes.arrow}px`);
      return chips;
    }
    placed(positions, i) {
      const { gap, around, least, arrow, lettering } = this.sizes;
      const long = (n) => Math.max(this.shown(n, i).length, this.labels ? shortened(this.answer(n), this.limit).length : 0);
      const width = (n) => Math.max(least, long(n) * this.scale * lettering + around) + (n > i && !this.labels ? arrow : 0);
      const chips = [];
      let [left, before] = [2, -1];
      for (const n of positions.sort((a, b) => a - b)) {
        if (n > before + 1 && this.gaps(n, i)) left += this.widthOmitted(n - before - 1);
        chips.push({ i: n, left, width: width(n) });
        left += width(n) + gap;
        before = n;
      }
      return chips;
    }
    widthOmitted(missing) {
      const { omitted, gap, lettering } = this.sizes;
      return Math.max(omitted, missing.toLocaleString("en").length * this.scale * lettering + gap);
    }
    /** The mark for omitted tokens: in the tokens' own line, so that nobody takes their number for a position. */
    omitted(before, next) {
      const missing = next.i - before - 1;
      const said = `${count(missing, "more position")}, not shown`;
      const number3 = missing.toLocaleString("en");
      const item = el("li", { class: "omitted", title: said });
      item.append(
        el("span", { class: "more", "aria-hidden": "true" }, number3, el("br"), "more"),
        el("span", { class: "said" }, said)
      );
      const width = this.widthOmitted(missing);
      item.style.left = `${next.left - width}px`;
      item.style.width = `${width - this.sizes.gap}px`;
      return item;
    }
    chip({ i, left, width }, now) {
      const { store } = this;
      const kind2 = this.kind(i, now);
      const net = this.circuit && (i <= now || this.circuit.answered(now) !== null) ? this.circuit.said(i) : null;
      const text = this.token(i, now);
      const rule = this.description?.lookup(now)?.found;
      const looked = rule && (i === rule.key || i === rule.value) ? ` rule-found hue${this.description.number % 7}` : "";
      const button = el(
        "button",
        {
          type: "button",
          class: `chip ${kind2} mono${looked}`,
          "aria-current": i === now ? "step" : null,
          "aria-label": (i > now && !this.labels ? `the answer: ${text}` : `position ${i}: ${text}`) + (net === null ? "" : `, ${net}`),
          "data-position": i,
          title: net ?? (this.shown(i, now) === text ? null : text),
          click: () => store.set({ i, playing: false })
        },
        this.shown(i, now)
      );
      const answered3 = !this.labels && i > now;
      const item = el("li", {}, button, el("span", { class: "index" }, answered3 ? "answer" : String(i)), this.labels ? this.answerOf(i, now) : null);
      if (answered3) item.prepend(el("span", { class: "arrow", "aria-hidden": "true" }, "→"));
      item.style.left = `${left}px`;
      item.style.width = `${width}px`;
      return item;
    }
    kind(i, now) {
      const { run: run2 } = this;
      if (i === now) return "now";
      if (this.labels) return this.ends.includes(run2.rows.fed(i)) ? "bos" : "given";
      if (i > now) return "next";
      return i < run2.spec.prompt ? "prompt" : run2.generated(i) ? "made" : "bos";
    }
    /** The answer of the first output at a position. */
    answer(i) {
      return this.run.rows.cell(this.run.spec.columns[1].name, i);
    }
    answerOf(i, now) {
      const { run: run2 } = this;
      const { name } = run2.spec.columns[1];
      const due = run2.wrong(name, i);
      const text = this.answer(i);
      const said = `${name}: ${text}${due === void 0 ? "" : `, should be ${due}`}`;
      return el("span", { class: `answer mono${i === now ? " now" : ""}${due === void 0 ? "" : " bad"}`, title: said }, shortened(text, this.limit));
    }
    drawArcs(i, looks3, chips, width, layer) {
      const middle = this.middles(looks3, chips, i);
      const here = middle.get(i);
      const first = chips[0].i ? chips[0].left / 2 : middle.get(0);
      const edge = (j) => middle.get(j) ?? (j === 0 ? first : chips.find((chip) => chip.i > j).left);
      const order2 = looks3.map((_, n) => n).sort((a, b) => this.span(looks3[a], i) - this.span(looks3[b], i) || a - b);
      const height = LANE * (looks3.length + 0.5) + LOWEST;
      set(this.arcs, { width, height, viewBox: `0 0 ${width} ${height}` });
      const drawn = looks3.map((look, n) => {
        const lift = LANE * order2.indexOf(n) + LOWEST;
        const { label, name, layer: l } = this.heads[n];
        const top = height - lift;
        const from = here + (n - (looks3.length - 1) / 2) * 5;
        const gap = look.runner < 0 ? "" : String(look.score - look.runnerScore);
        const group = svg("g", {
          class: `arc hue${n % 7}${(this.lit?.size ? this.lit.has(label) : l === layer) ? " chosen" : ""}${this.lit?.has(label) ? " lit" : ""}`,
          "data-head": label,
          "data-from": i,
          "data-to": look.uniform ? `${look.sight[0]}..${look.sight[1] - 1}` : look.sharers.join(" "),
          "data-score": look.uniform ? "" : String(look.score),
          "data-runner": look.runner < 0 ? "" : look.runner,
          "data-runner-score": look.runner < 0 ? "" : String(look.runnerScore),
          "data-gap": gap
        });
        const ends = look.uniform ? [] : look.sharers.filter((j) => middle.has(j));
        const targets = ends.filter((j, k) => ends.findIndex((other) => middle.get(other) === middle.get(j)) === k);
        const dash = { "stroke-dasharray": DASHES[n % 7] || null };
        const [start2, last] = [look.sight[0], look.sight[1] - 1];
        const [low, high] = [start2 === i ? from : edge(start2), last === i ? from : edge(last)];
        const labels = [look.uniform ? (low + high) / 2 : (from + middle.get(targets[0]) + (n - 3) * 3) / 2, top];
        if (look.uniform) {
          group.append(svg("path", { d: `M${low} ${height}V${top + 8}Q${low} ${top} ${low + 8} ${top}H${high - 8}Q${high} ${top} ${high} ${top + 8}V${height}`, ...dash }));
          if (start2 < i && i < last) group.append(svg("path", { d: `M${from} ${top}V${height}`, ...dash }));
          for (const chip of chips)
            if (chip.i > start2 && chip.i < last && chip.i !== i) group.append(svg("path", { d: `M${middle.get(chip.i)} ${top}v7` }));
        }
        for (const j of targets) {
          const to = Math.max(EDGE, middle.get(j) + (n - (looks3.length - 1) / 2) * 5);
          const peak = height - lift / 0.75;
          const faint = { opacity: look.weights ? Math.max(FAINTEST, look.weights[j - look.sight[0]]).toFixed(2) : null };
          if (j === i) {
            if (j === targets[0]) labels[0] = from;
            group.append(svg("path", { d: `M${from - 7} ${height}C${from - 20} ${peak} ${from + 20} ${peak} ${from + 7} ${height - 5}`, ...dash, ...faint }), tip(from + 7, height, faint));
          } else {
            group.append(svg("path", { d: `M${from} ${height}C${from} ${peak} ${to} ${peak} ${to} ${height - 5}`, ...dash, ...faint }), tip(to, height, faint));
          }
        }
        group.append(svg("rect", { x: labels[0] - 17, y: labels[1] - 11, width: 34, height: 22, rx: 11 }), svg("text", { x: labels[0], y: labels[1] + 5 }, label));
        group.prepend(svg("title", {}, `head ${label}, ${name}: ${described2(look)}`));
        return group;
      });
      this.arcs.replaceChildren(...[...drawn].sort((a, b) => Number(a.classList.contains("chosen")) - Number(b.classList.contains("chosen"))));
      set(this.arcs, { "aria-label": looks3.map((look, n) => `head ${this.heads[n].label}: ${described2(look)}`).join("; ") });
    }
    /** Where the arcs end: at the middle of a token, and of the mark for omitted ones that describe the machine. */
    middles(looks3, chips, i) {
      const middle = new Map(chips.map((chip) => [chip.i, chip.left + chip.width / 2]));
      for (const look of looks3)
        for (const j of look.uniform ? [] : look.sharers) {
          const next = middle.has(j) || j >= this.run.spec.lead ? void 0 : chips.find((chip) => chip.i > j);
          if (!next) continue;
          const before = chips.filter((chip) => chip.i < j).at(-1)?.i ?? -1;
          if (next.i <= i) middle.set(j, next.left - this.widthOmitted(next.i - before - 1) / 2 - this.sizes.gap / 2);
        }
      return middle;
    }
    span(look, i) {
      if (look.uniform) return Math.max(i - look.sight[0], look.sight[1] - 1 - i) + 0.5;
      return this.labels ? Math.max(...look.sharers.map((j) => Math.abs(i - j))) : i - look.winner;
    }
  };
  function end(chips) {
    const last = chips.at(-1);
    return last.left + last.width;
  }
  function described2(look) {
    if (look.uniform) return `all scores are equal: the mean of all ${count(look.count, "position")}`;
    if (look.weights) return `weights of softmax: ${shares(look)}`;
    const where = look.count > 1 ? `shared by ${look.count} positions: ${look.sharers.join(", ")}` : `position ${look.winner}`;
    if (look.runner < 0) return `${where}, the only one there is`;
    const [score, runner] = apart(look.score, look.runnerScore);
    return `${where}, score ${score}, runner-up ${look.runner} with ${runner}, gap ${digits(look.score - look.runnerScore)}`;
  }
  function sample(n) {
    const line = svg("path", { d: "M1 6H33", "stroke-dasharray": DASHES[n % 7] || null });
    return svg("svg", { class: "sample", viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" }, line);
  }
  function tip(x, y, more) {
    return svg("path", { class: "tip", ...more, d: `M${x - 5} ${y - 9}L${x} ${y}L${x + 5} ${y - 9}Z` });
  }

  // src/layers.ts
  var MOST_NAMED = 12;
  var MOST_CHARACTERS = 26;
  var Layers = class {
    constructor(run2, store, buffers, model, broken) {
      this.run = run2;
      this.store = store;
      this.buffers = buffers;
      this.model = model;
      this.broken = broken;
      const { layers, labels, loops } = run2.spec;
      this.typeset = typesetter(run2.spec);
      this.cards = [this.embedding(), ...layers.map((_, l) => this.card(l))];
      this.loops = loops.map(([first, last]) => new Passes(run2, store, first, last));
      this.outputs = labels ? this.answers() : null;
      const items = this.cards.flatMap(({ card }, n) => [...this.loops.filter(({ first }) => first === n - 1).map(({ element }) => element), card]);
      if (broken) broken.invite = () => this.weights[this.breakable(run2.layerOf(store.now.layer) + 1)].invite();
      const blamed = blamedLayer(run2.spec);
      if (blamed !== null) {
        const { card } = this.cards[blamed];
        card.classList.add("blamed");
        card.querySelector(".top").append(el("span", { class: "blame" }, "✗ the first wrong value"));
      }
      this.element = el(
        "section",
        { class: "panel layers-panel", "aria-label": "The layers" },
        el("h2", {}, labels ? "How the outputs are computed" : "How the next token is computed"),
        el("ol", { class: "layers" }, ...items, this.outputs?.card, broken && !labels ? this.unembedding(broken) : null)
      );
    }
    run;
    store;
    buffers;
    model;
    broken;
    element;
    /** The weights of the embedding, of each layer and of the unembedding, if they can be changed. */
    weights = [];
    typeset;
    /** The embedding, then the layers. */
    cards;
    loops;
    outputs;
    /** The layer to break a weight in, up to this one: the last with a head, whose first weight most runs use, unlike a rule's. */
    breakable(number3) {
      const found = this.run.spec.layers.slice(0, number3).findLastIndex(({ heads }) => heads.length) + 1;
      return found || Math.max(1, number3);
    }
    draw(position, chosen) {
      const { run: run2 } = this;
      const i = Math.min(position, run2.count - 1);
      const layer = run2.layerOf(chosen);
      const steps = [-1, ...run2.stepsWith(chosen)];
      this.cards.forEach((card, n) => {
        mark(card, n - 1 === layer);
        card.heads.replaceChildren(...this.heads(n - 1, steps[n], i));
        card.wrote.replaceChildren(...this.wrote(steps[n], i, card.equations));
      });
      for (const loop of this.loops) loop.draw(steps[loop.first + 1]);
      if (!this.outputs) return;
      mark(this.outputs, layer === run2.spec.layers.length);
      this.outputs.wrote.replaceChildren(...this.answered(i));
    }
    /** What the stream contains before the first layer. */
    embedding() {
      const wrote = el("p", { class: "wrote" });
      const button = this.button("0", "embedding", () => -1);
      const meaning = el("span", { class: "meaning" }, "the token at this position, and the position itself");
      const weights = this.broken && this.changeable(new WeightsCard(this.broken, 0, "the embedding", []));
      const card = el("li", { class: "layer", "data-layer": 0 }, el("div", { class: "top" }, button, meaning), el("div", { class: "bottom" }, wrote, weights?.button), weights?.element);
      return { card, button, heads: el("ul"), wrote, equations: /* @__PURE__ */ new Map() };
    }
    /** What is read off the stream after the last layer. */
    answers() {
      const wrote = el("p", { class: "wrote" });
      const button = this.button("✓", "outputs", () => this.store.top);
      const meaning = el("span", { class: "meaning" }, "the values that the unembedding reads from the stream after the last layer");
      const number3 = this.run.spec.layers.length + 1;
      const weights = this.broken && this.changeable(new WeightsCard(this.broken, number3, "the unembedding", []));
      const card = el("li", { class: "layer outputs-card", "data-layer": number3 }, el("div", { class: "top" }, button, meaning), el("div", { class: "bottom" }, wrote, weights?.button), weights?.element);
      return { card, button, heads: el("ul"), wrote, equations: /* @__PURE__ */ new Map() };
    }
    button(number3, name, step) {
      const click = () => this.store.set({ layer: step() });
      return el("button", { type: "button", class: "layer-name", "aria-pressed": "false", click }, el("span", { class: "number" }, number3), name);
    }
    card(l) {
      const { run: run2, typeset } = this;
      const layer = run2.spec.layers[l];
      const heads = el("ul", { class: "looks" });
      const wrote = el("p", { class: "wrote" });
      const button = this.button(String(l + 1), layer.name, () => run2.stepsWith(this.store.now.layer)[l]);
      const scores = layer.heads.map((head, k) => el("p", { class: "score" }, el("b", {}, `${l + 1}.${k + 1} `), "score of j seen from i: ", ...typeset(head.score)));
      const called = `layer ${l + 1}`;
      const weights = this.broken ? this.changeable(new WeightsCard(this.broken, l + 1, called, scores)) : read2(called, scores, () => run2.weights[l] ?? textOf(layerListing(...weightsOf2(run2.spec, this.buffers), l + 1)));
      const equations = this.equations(l);
      const source = run2.spec.labels ? [...new Set(layer.heads.map((head) => head.source))].filter(Boolean).join("; ") : layer.source;
      const card = el(
        "li",
        { class: "layer", "data-layer": l + 1 },
        el("div", { class: "top" }, button, el("span", { class: "equation" }, ...typeset(layer.equation)), el("span", { class: "source" }, source), equations.size ? weights.button : null),
        equations.size ? null : el("p", { class: "meaning" }, layer.meaning),
        heads,
        el("div", { class: "bottom" }, wrote, equations.size ? null : weights.button),
        weights.element
      );
      return { card, button, heads, wrote, equations };
    }
    /** What is read off the stream after the last layer. */
    unembedding(broken) {
      const weights = this.changeable(new WeightsCard(broken, this.run.spec.layers.length + 1, "the unembedding", []));
      const name = el("span", { class: "layer-name" }, "unembedding");
      const meaning = el("span", { class: "meaning" }, "one logit per token: the next token is the first one with the largest logit");
      return el("li", { class: "layer", "data-layer": "unembedding" }, el("div", { class: "top" }, name, meaning), el("div", { class: "bottom" }, weights.button), weights.element);
    }
    changeable(card) {
      this.weights.push(card);
      return card;
    }
    /** By the name of a subspace, the equation of the variable in it, of those that a layer without an equation of its own writes. */
    equations(l) {
      const { model, run: run2 } = this;
      const written2 = model && !run2.spec.layers[l].equation ? model.variables.filter(({ stored, since }) => stored && since.layer === l + 1) : [];
      return new Map(written2.map(({ name, formula }) => [name, formula.startsWith(`${name} = `) ? formula.slice(name.length + 3) : formula]));
    }
    /** The equation of the positions that a head attends to, where the model has one. */
    pattern(claim) {
      return this.run.spec.labels ? this.model?.patterns.find((each) => each.claim === claim)?.formula ?? null : null;
    }
    heads(l, step, i) {
      const before = this.run.spec.layers.slice(0, Math.max(0, l)).reduce((sum, layer) => sum + layer.heads.length, 0);
      return (this.run.spec.layers[l]?.heads ?? []).map((head, k) => {
        const look = this.run.look(step, k, i);
        const fact = (name, value, full) => el("span", { class: "fact", title: String(full) }, `${name} `, el("b", {}, value));
        const named = look.sharers.slice(0, MOST_NAMED).join(", ") + (look.sharers.length > MOST_NAMED ? ", …" : "");
        const where = look.uniform ? `all scores are ${digits(look.score)}: the mean of all ${count(look.count, "position")}` : look.weights ? `${i} → ${shares(look, MOST_NAMED)}` : look.count > 1 ? `${i} → ${named}: ${count(look.count, "position")} share the attention` : `${i} → ${look.winner}`;
        const token2 = look.uniform || look.count > 1 ? null : el("span", { class: "mono token" }, this.run.rows.fed(look.winner));
        const [score, runner] = apart(look.score, look.runnerScore);
        const facts = look.uniform || look.sight[1] - look.sight[0] < 2 ? [] : [
          fact("score", score, look.score),
          ...look.runner < 0 ? [] : [
            fact(`runner-up ${look.runner}:`, runner, look.runnerScore),
            fact("gap", digits(look.score - look.runnerScore), look.score - look.runnerScore)
          ]
        ];
        const n = before + k;
        const formula = this.pattern(head.claim);
        return el(
          "li",
          { class: `look hue${n % 7}`, "data-head": `${l + 1}.${k + 1}` },
          sample(n),
          el("b", { class: "tag" }, `${l + 1}.${k + 1}`),
          el("span", { class: "head-name" }, ...this.typeset(formula ?? head.name)),
          el("span", { class: "where" }, where),
          token2,
          ...facts
        );
      });
    }
    wrote(step, i, equations) {
      const { run: run2 } = this;
      if (equations.size) return this.computed(step, i, equations);
      const changed = run2.spec.subspaces.flatMap(
        (subspace, n) => run2.changed(n, step, i) ? [el("span", { class: "value" }, ...symbol(run2, subspace.name), " = ", el("b", { class: "mono" }, words(run2, subspace, run2.value(n, 2 * step + 2, i), i)))] : []
      );
      return changed.length ? ["writes ", ...changed] : ["writes nothing here"];
    }
    /** What a step writes, each value with its equation; what it leaves as it was at this position is faint. */
    computed(step, i, equations) {
      const { run: run2 } = this;
      return run2.spec.subspaces.flatMap((subspace, n) => {
        const [formula, changed] = [equations.get(subspace.name), run2.changed(n, step, i)];
        if (formula === void 0 && !changed) return [];
        const whole2 = words(run2, subspace, run2.value(n, 2 * step + 2, i), i);
        const text = shortened(whole2, MOST_CHARACTERS);
        const value = el("b", { class: "value mono", title: text === whole2 ? null : whole2 }, text);
        const equation = formula === void 0 || formula === subspace.name ? null : ` = ${formula}`;
        return el("span", { class: `computed${changed ? "" : " same"}` }, el("span", {}, el("b", {}, subspace.name), equation), value);
      });
    }
    /** The outputs at a position, each with the result of the comparison. */
    answered(i) {
      const { run: run2 } = this;
      return run2.spec.columns.slice(1).map(({ name }) => {
        const due = run2.wrong(name, i);
        const tick = due !== void 0 ? el("span", { class: "tick bad" }, ` ✗ should be ${due}`) : run2.compared(name, i) ? el("span", { class: "tick" }, "✓") : null;
        return el("span", { class: "value" }, name, " = ", el("b", { class: "mono" }, run2.rows.cell(name, i)), tick);
      });
    }
  };
  function mark({ card, button }, chosen) {
    card.classList.toggle("chosen", chosen);
    set(button, { "aria-pressed": String(chosen) });
  }
  function symbol(run2, name) {
    return typesetter(run2.spec)(run2.spec.labels ? name : symbolOf(name));
  }
  var Passes = class {
    constructor(run2, store, first, last) {
      this.run = run2;
      this.store = store;
      this.first = first;
      const button = (sign, name, by) => el("button", { type: "button", class: "small", "aria-label": name, title: name, click: () => this.turn(by) }, sign);
      this.back = button("‹", "the pass before", -1);
      this.on = button("›", "the next pass", 1);
      const what = first === last ? `layer ${first + 1} runs repeatedly:` : `layers ${first + 1} to ${last + 1} run repeatedly:`;
      this.element = el("li", { class: "loop" }, what, this.back, this.text, this.on);
    }
    run;
    store;
    first;
    element;
    text = el("b", {});
    back;
    on;
    pass = 1;
    /** step: that of its first layer in the pass that is shown. */
    draw(step) {
      const all = this.run.passes(this.first);
      this.pass = this.run.spec.steps[step][1];
      this.text.textContent = `pass ${this.pass} of ${all}`;
      set(this.back, { disabled: this.pass === 1 });
      set(this.on, { disabled: this.pass === all });
    }
    /** Choose another pass, at the layer that is chosen, or the first. */
    turn(by) {
      const { steps, loops } = this.run.spec;
      const [first, last] = loops.find((loop) => loop[0] === this.first);
      const layer = this.run.layerOf(this.store.now.layer);
      const wanted = layer >= first && layer <= last ? layer : first;
      this.store.set({ layer: steps.findIndex(([each, pass]) => each === wanted && pass === this.pass + by), playing: false });
    }
  };
  function read2(called, scores, listing) {
    const text = el("pre", { tabindex: 0 });
    const element = el("div", { class: "weights", hidden: true }, ...scores, text);
    const button = el("button", {
      type: "button",
      class: "small",
      "aria-expanded": "false",
      "aria-label": `the weights of ${called}`,
      click: () => {
        element.hidden = !element.hidden;
        text.textContent ||= listing();
        set(button, { "aria-expanded": String(!element.hidden) });
      }
    }, "weights");
    return { button, element };
  }

  // src/state.ts
  var Store = class {
    constructor(last, layers, start2, first = 0, home = layers - 1, plays = "positions") {
      this.last = last;
      this.layers = layers;
      this.first = first;
      this.home = home;
      this.plays = plays;
      this.now = { i: 0, layer: home, raw: false, node: null, lit: null, playing: false, speed: plays === "layers" ? 1 : 2, ...start2 };
    }
    last;
    layers;
    first;
    home;
    plays;
    now;
    views = [];
    drawing = false;
    clock = 0;
    owed = 0;
    ended = false;
    /** The last layer that can be chosen. */
    get top() {
      return this.plays === "layers" ? this.layers : this.layers - 1;
    }
    subscribe(view) {
      this.views.push(view);
    }
    /** Draw nothing any more. */
    end() {
      this.ended = true;
      this.now.playing = false;
    }
    set(change) {
      if (this.ended) return;
      const next = { ...this.now, ...change };
      next.i = Math.max(0, Math.min(this.last, Math.round(next.i) || 0));
      next.layer = Math.max(-1, Math.min(this.top, next.layer));
      if (next.layer !== this.now.layer && change.node === void 0) next.node = null;
      const starts = next.playing && !this.now.playing;
      Object.assign(this.now, next);
      if (starts) this.play();
      if (!this.drawing) {
        this.drawing = true;
        requestAnimationFrame(() => this.draw());
      }
    }
    /** Go to the position that playing begins at; from there, to the very first. */
    begin() {
      this.set({ i: this.now.i > this.first ? this.first : 0, playing: false });
    }
    /** Move by n positions, and stop playing. */
    step(n) {
      this.set({ i: this.now.i + n, playing: false });
    }
    /** Move what plays by n, and stop playing. */
    advance(n) {
      if (this.plays === "layers") this.set({ layer: this.now.layer + n, playing: false });
      else this.step(n);
    }
    toggle() {
      const { playing } = this.now;
      const again = !playing && (this.plays === "layers" ? { layer: -1 } : { i: this.first });
      this.set({ playing: !playing, ...again && this.finished ? again : {} });
    }
    get finished() {
      return this.plays === "layers" ? this.now.layer === this.top : this.now.i === this.last;
    }
    draw() {
      this.drawing = false;
      if (this.ended) return;
      for (const view of this.views) view(this.now);
    }
    play() {
      this.clock = performance.now();
      this.owed = 0;
      const tick = (time) => {
        if (!this.now.playing) return;
        this.owed += Math.max(0, time - this.clock) / 1e3 * this.now.speed;
        this.clock = time;
        const whole2 = Math.floor(this.owed);
        if (whole2 > 0) {
          this.owed -= whole2;
          this.set(this.plays === "layers" ? { layer: this.now.layer + whole2 } : { i: this.now.i + whole2 });
          if (this.finished) this.set({ playing: false });
        }
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }
  };

  // src/sequence/story.ts
  var MOST2 = 3;
  function sequenceStory(run2, layer, i) {
    const at = ["position ", code(i), ", the token ", code(run2.rows.fed(i))];
    if (layer >= run2.steps) return answered2(run2, i, at);
    if (layer < 0) return ["The embedding writes what is known at ", ...at, ", before any layer", ...after(": ", written(run2, -1, i)), "."];
    const { heads } = run2.spec.layers[run2.layerOf(layer)];
    const values = written(run2, layer, i);
    const name = capital(stepNamed(run2, layer));
    const nothing = " Nothing changes at this position.";
    if (!heads.length) return [`${name}, at `, ...at, ...values.length ? [": from what this position holds, ReLU units compute ", ...values, "."] : [".", nothing]];
    return [`${name}, at `, ...at, ": ", ...looks2(run2, layer, i), ".", ...values.length ? [" The layer writes ", ...values, "."] : [nothing]];
  }
  function looks2(run2, step, i) {
    const l = run2.layerOf(step);
    const { heads } = run2.spec.layers[l];
    const told = heads.slice(0, MOST2).flatMap((_, k) => {
      const look = run2.look(step, k, i);
      const { uniform, count: shared, winner, sharers, weights } = look;
      const head = [k ? "; head " : "head ", code(`${l + 1}.${k + 1}`)];
      if (uniform && shared > 1) return [...head, " takes the mean of ", count(shared, "position")];
      if (weights && shared > 1) return [...head, " gives most of its weight to positions ", code(shares(look, MOST2))];
      if (shared > 1) return [...head, ` attends to ${count(shared, "position")} equally: `, code(sharers.slice(0, MOST2).join(", ") + (shared > MOST2 ? ", …" : ""))];
      return [...head, " attends to position ", code(winner), ", the token ", code(run2.rows.fed(winner))];
    });
    return heads.length > MOST2 ? [...told, `; and ${count(heads.length - MOST2, "more head")}`] : told;
  }
  function written(run2, step, i) {
    const changed = run2.spec.subspaces.flatMap((subspace, n) => subspace.name !== "1" && run2.changed(n, step, i) ? [[subspace.name, words(run2, subspace, run2.value(n, 2 * step + 2, i), i)]] : []);
    const plain2 = changed.filter(([, value]) => !value.startsWith("⟨")).sort(([one], [other]) => Number(one.includes(" ")) - Number(other.includes(" ")));
    const told = plain2.slice(0, MOST2).flatMap(([name, value], n) => [n ? ", " : "", el("span", {}, name), " = ", code(value)]);
    const more = changed.length - Math.min(MOST2, plain2.length);
    return more ? [...told, told.length ? ` and ${count(more, "more value")}` : count(more, "value")] : told;
  }
  function answered2(run2, i, at) {
    const { reference, columns, layers } = run2.spec;
    const answers = columns.slice(1, 1 + MOST2).flatMap(({ name }, n) => {
      const due = run2.wrong(name, i);
      return [n ? ", " : "", code(name), " is ", code(run2.rows.cell(name, i)), ...due === void 0 ? [] : [" (the ", reference, " says ", code(due), ")"]];
    });
    const more = columns.length - 1 - MOST2;
    const rest = more > 0 ? `, and ${count(more, "more output")} in the table` : "";
    return ["At ", ...at, ": ", ...answers, rest, `. All positions are answered at once, in ${count(layers.length, "layer")}; ▶ plays the layers at this position.`];
  }
  function after(sign, words2) {
    return words2.length ? [sign, ...words2] : [];
  }
  function capital(text) {
    return text.charAt(0).toUpperCase() + text.slice(1);
  }
  function code(text) {
    return el("b", { class: "mono" }, String(text));
  }

  // src/tape.ts
  var MARGIN2 = 2;
  var Tape = class {
    constructor(run2, machine, history2, description = null) {
      this.run = run2;
      this.machine = machine;
      this.history = history2;
      this.description = description;
      const tape = history2 && el("div", { class: "tape", role: "img" }, this.head, this.cells);
      this.element = el("section", { class: "panel tape-panel", "aria-label": tape ? "The tape" : "What happens" }, tape, this.story, this.end);
      const lowest = history2?.lowest ?? 0;
      this.lowest = machine?.tape === "one-way" ? lowest : lowest - 1;
      this.highest = (history2?.highest ?? 0) + 1;
    }
    run;
    machine;
    history;
    description;
    element;
    cells = el("div", { class: "cells" });
    head = el("div", { class: "head" });
    story = el("p", { class: "story", "aria-live": "polite" });
    end = el("p", { class: "ended" });
    lowest;
    highest;
    first = null;
    size = 0;
    room = 5;
    cell = 64;
    /** Compute the number of cells for which there is room. */
    measure() {
      this.cell = parseFloat(getComputedStyle(this.element).getPropertyValue("--cell-px")) || 64;
      this.room = Math.max(5, Math.floor((this.element.firstElementChild.clientWidth - 2) / this.cell));
    }
    /** layer: the chosen one, as `Showing.layer` counts it. */
    draw(position, layer, playing) {
      const { run: run2 } = this;
      set(this.story, { "aria-live": playing ? "off" : "polite" });
      const i = Math.min(position, run2.count - 1);
      if (this.history) this.drawTape(this.history, i);
      const plain2 = () => run2.spec.labels ? sequenceStory(run2, layer, i) : plainStory(run2, i);
      this.story.replaceChildren(...this.history ? story(run2, this.machine, this.description, i) : plain2());
      this.end.hidden = position < run2.count;
      this.end.textContent = `This run has ended, at position ${run2.count - 1}.`;
    }
    drawTape(history2, i) {
      const { run: run2 } = this;
      const h = run2.rows.number("h", i);
      const known = Number.isInteger(h);
      this.fit(known ? h : 0);
      const fresh = i > run2.spec.prompt + 1 ? history2.written(i) : null;
      const blank = this.machine?.blank ?? "_";
      const one = this.machine?.tape === "one-way";
      const start2 = this.first;
      const cells = [];
      for (let cell = start2; cell < start2 + this.size; cell++) {
        const symbol2 = history2.symbol(cell, i);
        const place = cell + run2.spec.lead;
        const unread = i < run2.spec.prompt && cell >= 0 && place > i && place < run2.spec.prompt;
        cells.push(
          el(
            "div",
            {
              class: ["cell", known && cell === h ? "here" : "", symbol2 === void 0 ? "blank" : "", unread ? "unread" : "", cell === fresh ? "fresh" : "", one && cell === 0 ? "wall" : ""].filter(Boolean).join(" "),
              "data-cell": cell
            },
            el("span", { class: "symbol mono" }, symbol2 ?? blank),
            el("span", { class: "index" }, String(cell).replace("-", "−"))
          )
        );
      }
      this.cells.replaceChildren(...cells);
      const open = !one || start2 > 0;
      set(this.cells, { class: `cells${open ? " open-left" : ""}` });
      const state = run2.rows.text("q", i);
      this.head.hidden = !known;
      const bubble = el("span", { class: "state mono", title: state === null ? "no state yet" : null }, state ?? "⊥");
      this.head.replaceChildren(bubble);
      this.head.style.setProperty("--at", String(h - start2));
      this.keepInside(bubble, (h - start2 + 0.5) * this.cell);
      const shown2 = [...cells].map((cell) => cell.firstChild.textContent).join(" ");
      set(this.cells.parentElement, {
        "aria-label": `Tape from cell ${start2}: ${shown2}. The head is at cell ${h}, in state ${state ?? "none yet"}.`
      });
    }
    /** Move a name that is wider than its cell, at the middle given, so far that neither end of the tape cuts it off. */
    keepInside(bubble, middle) {
      const width = this.cells.parentElement.clientWidth;
      bubble.style.maxWidth = `${width}px`;
      const half = bubble.offsetWidth / 2;
      bubble.style.translate = `${Math.max(half, Math.min(middle, width - half)) - middle}px`;
    }
    /** Choose the cells to show: all if they fit, otherwise those around the head, which move only when it comes close to an end. */
    fit(h) {
      const { room } = this;
      const all = this.highest - this.lowest + 1;
      if (room >= all) {
        this.first = this.machine?.tape === "one-way" ? this.lowest : this.lowest - Math.floor((room - all) / 2);
        this.size = room;
        return;
      }
      this.size = room;
      let first = this.first ?? h - Math.floor(room / 2);
      first = Math.min(Math.max(first, h + MARGIN2 + 1 - room), h - MARGIN2);
      this.first = Math.max(this.lowest, Math.min(first, this.highest + 1 - room));
    }
  };

  // src/home.ts
  var [PACE, REST] = [1100, 4500];
  var STILL = { i: 6, layer: 3 };
  var Walk = class {
    constructor(store, changed) {
      this.store = store;
      this.changed = changed;
    }
    store;
    changed;
    timer = 0;
    shown = true;
    playing = false;
    /** The number of stages of the run: a layer at a position. */
    get count() {
      return (this.store.last - this.store.first + 1) * this.store.layers;
    }
    /** The stage that is shown, from 0. */
    get at() {
      const { i, layer } = this.store.now;
      return (i - this.store.first) * this.store.layers + Math.max(0, layer);
    }
    go(stage) {
      const { first, layers } = this.store;
      const to = Math.max(0, Math.min(this.count - 1, stage));
      this.store.set({ i: first + Math.floor(to / layers), layer: to % layers });
    }
    play(on) {
      this.playing = on;
      this.next();
      this.changed();
    }
    /** Nothing is played that nobody sees. */
    see(shown2) {
      this.shown = shown2;
      this.next();
    }
    next() {
      clearTimeout(this.timer);
      if (!this.playing || !this.shown) return;
      const ended = this.at >= this.count - 1;
      const tick = () => {
        this.go(ended ? 0 : this.at + 1);
        this.next();
      };
      this.timer = window.setTimeout(tick, ended ? REST : PACE);
    }
  };
  async function start(root2) {
    const find = (selector) => document.querySelector(selector).textContent;
    const data = JSON.parse(find("#data"));
    const buffers = await unpacked(find("#columns"));
    const run2 = new Run(data.runs[0], buffers);
    const store = new Store(run2.count - 1, run2.spec.layers.length, { i: run2.turn, layer: 0 }, run2.turn);
    const history2 = new History(run2, data.machine?.blank ?? "_");
    const tape = new Tape(run2, data.machine, history2);
    const strip = new Strip(run2, store, null);
    const layers = new Layers(run2, store, buffers, null, null);
    const walk = new Walk(store, () => store.set({}));
    const button = (name, path, act, kind2 = "") => el("button", { type: "button", class: `control ${kind2}`, "aria-label": name, title: name, click: act }, icon(path));
    const step = (by) => () => {
      walk.play(false);
      walk.go(walk.at + by);
    };
    const play = button("Play", PLAY, () => walk.play(!walk.playing), "play");
    const slider = el("input", { type: "range", min: 0, max: walk.count - 1, "aria-label": "Position and layer", input: () => step(Number(slider.value) - walk.at)() });
    const place = el("p", { class: "place" });
    const controls = el("div", { class: "walk", role: "group", "aria-label": "Playing" }, button("Back", "M17 5v14L7 12z", step(-1)), play, button("Step", "M7 5v14l10-7z", step(1)), slider, place);
    root2.replaceChildren(el("div", { class: "inside" }, el("div", { class: "side" }, tape.element, strip.element), layers.element), controls);
    leavesFocus(root2);
    let width = 0;
    store.subscribe(({ i, layer }) => {
      if (width !== root2.offsetWidth) {
        width = root2.offsetWidth;
        for (const view of [tape, strip]) view.measure();
      }
      tape.draw(i, layer, walk.playing);
      strip.draw(i, layer);
      layers.draw(i, layer);
      const name = walk.playing ? "Pause" : "Play";
      set(play, { "aria-label": name, title: name });
      set(play.querySelector("path"), { d: walk.playing ? PAUSE : PLAY });
      slider.value = String(walk.at);
      place.textContent = `position ${i}, layer ${layer + 1}`;
      set(slider, { "aria-valuetext": place.textContent });
    });
    for (const view of [strip, layers]) view.element.addEventListener("click", () => walk.play(false), { capture: true });
    new ResizeObserver(() => store.set({})).observe(root2);
    new IntersectionObserver(([entry]) => walk.see(entry.isIntersecting)).observe(root2);
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    still.addEventListener("change", () => walk.play(!still.matches));
    if (still.matches) store.set(STILL);
    else walk.play(true);
    store.draw();
    root2.dataset["ready"] = "true";
  }
  start(document.querySelector("#run"));
})();
