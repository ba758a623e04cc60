// Built from explorer/src; see explorer/README.md.
"use strict";
var explorer = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // src/main.ts
  var main_exports = {};
  __export(main_exports, {
    Dense: () => Dense,
    decoderOf: () => decoderOf,
    generate: () => generate,
    prompted: () => prompted,
    unpacked: () => unpacked,
    wholeRun: () => wholeRun
  });

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
    number(column3, i) {
      return this.columns.get(column3).values[i];
    }
    text(column3, i) {
      const n = this.columns.get(column3).values[i];
      return n === 0 ? null : this.texts[n - 1];
    }
    /** A cell as the table writes it. */
    cell(column3, i) {
      const { number: number2, signed } = this.columns.get(column3).heading;
      if (!number2) return this.text(column3, i) ?? "⊥";
      const value = this.number(column3, i);
      return signed && value > 0 ? `+${value}` : String(value).replace("-", "−");
    }
    /** The length of the longest text in a column. */
    widest(column3) {
      const { heading, values } = this.columns.get(column3);
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
      this.weights = spec.layers.map((layer) => textAt(buffers, layer.weights));
      this.unspecified = new Map(Object.entries(spec.unspecified).map(([name, place]) => [name, buffers(place)]));
      this.seen = spec.layers.map((layer) => layer.heads.map((head) => looks(head, buffers)));
    }
    spec;
    rows;
    expected;
    stages;
    seen;
    /** The weights of each layer, as `tm2tfr.listing` writes them. */
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
    look(layer, head, i) {
      return this.seen[layer][head](i);
    }
    /** What the cell should be, if the check found a difference; undefined if it is right or unchecked. */
    wrong(column3, i) {
      if (!this.spec.divergence || this.free(column3, i)) return void 0;
      if (i >= this.spec.checked) return column3 === this.spec.columns[0].name ? "⊥" : void 0;
      const due = this.expected.cell(column3, i);
      return due === this.rows.cell(column3, i) ? void 0 : due;
    }
    /** The length of the longest text in a column of the table; below it a wrong cell says what it should be. */
    widest(column3) {
      let longest = this.rows.widest(column3);
      for (let i = this.spec.divergence?.position ?? this.count; i < this.count; i++) {
        const due = this.wrong(column3, i);
        if (due !== void 0) longest = Math.max(longest, DUE * (due.length + 2));
      }
      return longest;
    }
    /** Whether a cell was compared with anything. */
    compared(column3, i) {
      return i < this.spec.checked && !this.free(column3, i);
    }
    /** Whether the reference says nothing of a cell. */
    free(column3, i) {
      return Boolean(this.unspecified.get(column3)?.[i]);
    }
    /** Subspace n after a stage (0: the embedding; then attention and feed-forward of each layer in turn). */
    value(n, stage, i) {
      const subspace = this.spec.subspaces[n];
      for (let s = stage; s >= 0; s--) {
        const column3 = this.stages[s].get(n);
        if (!column3) continue;
        const number2 = column3.values[i];
        if (!subspace.labels) return { number: number2, coordinates: [number2] };
        const coordinates2 = column3.others.get(i) ?? subspace.labels.map((_, k) => k + 1 === number2 ? 1 : 0);
        return { number: number2, coordinates: coordinates2 };
      }
      return { number: 0, coordinates: subspace.labels ? subspace.labels.map(() => 0) : [0] };
    }
    /** Whether layer l (-1: the embedding) changed subspace n at position i. */
    changed(n, layer, i) {
      const after = this.value(n, 2 * layer + 2, i).coordinates;
      if (layer < 0) return after.some((value) => value !== 0);
      const before = this.value(n, 2 * layer, i).coordinates;
      return after.some((value, k) => !Object.is(value, before[k]) && value !== before[k]);
    }
  };
  function looks(head, buffers) {
    if (!head.seen)
      return (i) => ({ uniform: true, winner: 0, count: i + 1, score: 0, runner: -1, runnerScore: 0, sharers: [] });
    const [winner, count2, score, runner, runnerScore] = ["winner", "count", "score", "runner", "runner_score"].map(
      (name) => buffers(head.seen[name])
    );
    return (i) => ({
      uniform: i > 0 && count2[i] === i + 1,
      winner: winner[i],
      count: count2[i],
      score: score[i],
      runner: runner[i],
      runnerScore: runnerScore[i],
      sharers: head.sharers?.[i] ?? [winner[i]]
    });
  }

  // src/live/decoder.ts
  function decoderOf(spec, buffers) {
    const { width, vocabulary, features, positions: positions2, outputs } = spec;
    const [counts, rows, columns, values] = [buffers(spec.counts), buffers(spec.rows), buffers(spec.columns), buffers(spec.values)];
    let matrix = 0;
    let entry = 0;
    const next = (height, across) => {
      const end2 = entry + counts[matrix++];
      const found = { height, width: across, rows: sums(rows, entry, end2), columns: sums(columns, entry, end2), values: Float64Array.from(values.subarray(entry, end2)) };
      entry = end2;
      return found;
    };
    const answers = outputs.length ? outputs.reduce((sum2, { labels }) => sum2 + (labels ? labels.length : 1), 0) : vocabulary.length;
    const tokens = next(width, vocabulary.length);
    const place = next(width, features.length);
    const table2 = positions2 === null ? null : next(width, positions2);
    const unembedding = next(answers, width);
    const unembeddingBias = next(answers, 1);
    const norm = (given) => given && { gain: next(width, 1), bias: next(width, 1), epsilon: given.epsilon };
    const norms = spec.layers.map((layer) => ({ attentionNorm: norm(layer.attention_norm), feedForwardNorm: norm(layer.feed_forward_norm) }));
    const last = norm(spec.norm);
    const layers = spec.layers.map(({ name, heads, hidden }, n) => {
      const own = heads.map(({ name: name2, mask, keys: keys2, values: values2 }) => {
        const [query, key, value] = [next(keys2, width), next(keys2, width), next(values2, width)];
        return { name: name2, mask, query, key, value, output: next(width, values2) };
      });
      const feedForward = hidden === null ? null : { input: next(hidden, width), inputBias: next(hidden, 1), output: next(width, hidden), outputBias: next(width, 1) };
      return { name, heads: own, feedForward, ...norms[n] };
    });
    const loops = spec.loops.map(({ first, last: last2, times: times2, until }) => ({ first, last: last2, times: times2, until: until ? next(1, width) : null }));
    const names = spec.names && JSON.parse(textAt(buffers, spec.names));
    const { bos, stop } = spec;
    return { width, vocabulary, bos, stop, features, positions: positions2, outputs, layers, loops, norm: last, tokens, place, table: table2, unembedding, unembeddingBias, names };
  }
  function answered({ outputs, vocabulary }) {
    if (!outputs.length) return vocabulary;
    return outputs.flatMap(({ name, labels }) => labels === null ? [name] : labels.map((label2) => `${name}[${label2}]`));
  }
  function sums(steps, start2, end2) {
    const found = new Int32Array(end2 - start2);
    let sum2 = 0;
    for (let n = start2; n < end2; n++) {
      sum2 += steps[n];
      found[n - start2] = sum2;
    }
    return found;
  }

  // src/live/matrix.ts
  var LinearMap = class {
    /** The rows that have entries, in order. */
    rows;
    starts;
    columns;
    values;
    constructor(matrix) {
      const rows = [];
      const starts = [];
      matrix.rows.forEach((row, n) => {
        if (row === rows.at(-1)) return;
        rows.push(row);
        starts.push(n);
      });
      this.rows = Int32Array.from(rows);
      this.starts = Int32Array.from([...starts, matrix.rows.length]);
      this.columns = matrix.columns;
      this.values = matrix.values;
    }
    /** Put (matrix · x)[rows] into `sums`; x: (columns,), sums: (rows that have entries,). */
    into(sums2, x) {
      const { rows, starts, columns, values } = this;
      for (let n = 0; n < rows.length; n++) {
        let sum2 = 0;
        for (let k = starts[n]; k < starts[n + 1]; k++) sum2 += values[k] * x[columns[k]];
        sums2[n] = sum2;
      }
    }
    /** Add matrix · x to `target`, which is not x: x (columns,), target (rows,). */
    addTo(target, x) {
      const { rows, starts, columns, values } = this;
      for (let n = 0; n < rows.length; n++) {
        let sum2 = 0;
        for (let k = starts[n]; k < starts[n + 1]; k++) sum2 += values[k] * x[columns[k]];
        target[rows[n]] += sum2;
      }
    }
  };
  var ColumnsOf = class {
    starts;
    rows;
    values;
    constructor(matrix) {
      const many = matrix.columns.length;
      this.starts = new Int32Array(matrix.width + 1);
      for (const column3 of matrix.columns) this.starts[column3 + 1]++;
      for (let n = 0; n < matrix.width; n++) this.starts[n + 1] += this.starts[n];
      [this.rows, this.values] = [new Int32Array(many), new Float64Array(many)];
      const next = this.starts.slice();
      for (let n = 0; n < many; n++) {
        const at = next[matrix.columns[n]]++;
        this.rows[at] = matrix.rows[n];
        this.values[at] = matrix.values[n];
      }
    }
    get length() {
      return this.starts.length - 1;
    }
    /** Add a column to x. */
    addTo(x, column3) {
      const end2 = this.starts[column3 + 1];
      for (let n = this.starts[column3]; n < end2; n++) x[this.rows[n]] += this.values[n];
    }
  };
  function selected(matrix, rows) {
    const place = new Map(Array.from(rows, (row, n) => [row, n]));
    const keep = Array.from(matrix.rows.keys()).filter((n) => place.has(matrix.rows[n]));
    return {
      height: rows.length,
      width: matrix.width,
      rows: Int32Array.from(keep, (n) => place.get(matrix.rows[n])),
      columns: Int32Array.from(keep, (n) => matrix.columns[n]),
      values: Float64Array.from(keep, (n) => matrix.values[n])
    };
  }
  function vector(matrix) {
    const found = new Float64Array(matrix.height);
    matrix.rows.forEach((row, n) => found[row] = matrix.values[n]);
    return found;
  }

  // src/live/refusals.ts
  var Refused = class extends Error {
    name = "Refused";
  };
  function tooLarge(where, position, what) {
    return new Refused(`${where}, position ${thousands(position)}: ${what} is too large for float64: use --engine exact, or smaller weights`);
  }
  function beyondTheTable(position) {
    return new Refused(`position ${thousands(position)}: these weights have ${counted(position, "position")}: stop before it`);
  }
  function layerCalled(decoder, number2) {
    return `layer ${number2} (${decoder.layers[number2 - 1].name})`;
  }
  function firstInfinite(numbers) {
    for (let n = 0; n < numbers.length; n++) if (!Number.isFinite(numbers[n])) return n;
    return -1;
  }
  function counted(number2, noun) {
    return `${thousands(number2)} ${noun}${number2 === 1 ? "" : "s"}`;
  }
  function thousands(number2) {
    return number2.toLocaleString("en-US");
  }
  function quoted(text) {
    const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
    let inside = "";
    for (const sign of text) inside += sign === "\\" || sign === mark ? `\\${sign}` : escaped(sign);
    return `${mark}${inside}${mark}`;
  }
  function visible(text) {
    return UNPRINTABLE.test(text) ? [...text].map(escaped).join("") : text;
  }
  var SHORT = { "\n": "\\n", "\r": "\\r", "	": "\\t" };
  var UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
  function escaped(sign) {
    if (SHORT[sign]) return SHORT[sign];
    if (!UNPRINTABLE.test(sign)) return sign;
    const code = sign.codePointAt(0).toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  }

  // src/live/attention.ts
  var MANY = 8;
  var FIRST_SIZE = 64;
  var Cache = class {
    constructor(width) {
      this.width = width;
      this.components = new Array(width).fill(null);
      this.sums = new Float64Array(width);
    }
    width;
    used = 0;
    size = FIRST_SIZE;
    /** Of a component that was 0 at every position so far, only this. */
    zeros = new Float64Array(FIRST_SIZE);
    components;
    /** The sum of each component over all positions so far, from the first. */
    sums;
    /** Add a vector, (width,), for the next position. */
    append(vector2) {
      if (this.used === this.size) this.grow();
      for (let c = 0; c < this.width; c++) {
        const value = vector2[c];
        if (value === 0) continue;
        (this.components[c] ??= new Float64Array(this.size))[this.used] = value;
        this.sums[c] += value;
      }
      this.used++;
    }
    /** Forget all positions. */
    clear() {
      this.used = 0;
      this.components.fill(null);
      this.sums.fill(0);
    }
    /** A component at all positions so far, and zeros after them. */
    component(c) {
      return this.components[c] ?? this.zeros;
    }
    grow() {
      const larger = (old) => {
        const found = new Float64Array(2 * this.size);
        found.set(old);
        return found;
      };
      this.components.forEach((old, c) => this.components[c] = old && larger(old));
      this.zeros = new Float64Array(2 * this.size);
      this.size *= 2;
    }
  };
  function inSight(mask, position, length) {
    return [mask === "past" ? position : 0, mask === "future" ? position + 1 : length];
  }
  var AttentionHead = class {
    /** where: what its layer is called; careful: whether a number can get too large. */
    constructor(head, where, careful) {
      this.where = where;
      this.careful = careful;
      const keys2 = new Set(head.key.rows);
      const both = Int32Array.from(new Set(head.query.rows)).filter((row) => keys2.has(row));
      [this.name, this.mask, this.uniform] = [head.name, head.mask, both.length === 0];
      this.query = new LinearMap(selected(head.query, both));
      this.key = new LinearMap(selected(head.key, both));
      this.value = new LinearMap(head.value);
      this.output = new LinearMap(head.output);
      this.rows = this.output.rows;
      this.added = new Float64Array(this.rows.length);
      [this.keys, this.values] = [new Cache(both.length), new Cache(this.value.rows.length)];
      this.asked = new Float64Array(both.length);
      this.taken = new Float64Array(Math.max(both.length, this.value.rows.length));
      this.mean = new Float64Array(this.value.rows.length);
      this.carried = new Float64Array(head.value.height);
    }
    where;
    careful;
    /** The rows of the stream that it adds to. */
    rows;
    /** What it adds to them, once it has looked. */
    added;
    /** Whether all scores are 0 by construction, so that all positions in sight share the attention. */
    uniform;
    mask;
    query;
    key;
    value;
    output;
    asked;
    taken;
    mean;
    carried;
    keys;
    values;
    name;
    scores = new Float64Array(FIRST_SIZE);
    /** Keep the key and the value of the next position; x: (width,) what the head reads there. */
    take(x) {
      this.key.into(this.taken, x);
      this.keys.append(this.taken);
      this.value.into(this.taken, x);
      this.values.append(this.taken);
    }
    /** Drop the keys and values so far: those of an earlier pass of a loop. */
    forget() {
      this.keys.clear();
      this.values.clear();
    }
    /** Attend from `position`, in a sequence of which `length` positions are taken; x: (width,) what the head reads there.
     *
     * Sets `added`. Returns where the head looked, null if it is uniform.
     */
    look(x, position, length) {
      const [start2, end2] = inSight(this.mask, position, length);
      let look = null;
      if (!this.uniform) {
        this.query.into(this.asked, x);
        if (this.scores.length < end2 - start2) this.scores = new Float64Array(2 * (end2 - start2));
        const scores = this.scores.subarray(0, end2 - start2);
        this.score(scores, start2);
        if (this.careful && firstInfinite(scores) >= 0) throw tooLarge(`${this.where}, head ${quoted(this.name)}`, position, "a score");
        look = best(scores, start2);
      }
      this.average(look && look.attended, start2, end2, length);
      for (let n = 0; n < this.mean.length; n++) this.carried[this.value.rows[n]] = this.mean[n];
      this.output.into(this.added, this.carried);
      return look;
    }
    /** Put the scores of the positions from `start` on into `scores`: products are added component by component. */
    score(scores, start2) {
      const used = this.components();
      const many = scores.length;
      const [a, b, c] = used.map((n) => this.asked[n]);
      const [k, l, m] = used.map((n) => this.keys.component(n));
      switch (used.length) {
        case 1:
          for (let n = 0, j = start2; n < many; n++, j++) scores[n] = a * k[j];
          return;
        case 2:
          for (let n = 0, j = start2; n < many; n++, j++) scores[n] = a * k[j] + b * l[j];
          return;
        default:
          for (let n = 0, j = start2; n < many; n++, j++) scores[n] = a * k[j] + b * l[j] + c * m[j];
      }
      for (const component of used.slice(3)) {
        const [asked, keys2] = [this.asked[component], this.keys.component(component)];
        for (let n = 0, j = start2; n < many; n++, j++) scores[n] += asked * keys2[j];
      }
    }
    /** The components that are not skipped: with finite keys, those that are 0 in a query add 0 to every score. */
    components() {
      const all = Array.from(this.asked.keys());
      if (this.careful || all.length <= MANY) return all;
      const found = all.filter((n) => this.asked[n] !== 0);
      return found.length ? found : all.slice(0, 1);
    }
    /** Put the mean of the values into `mean`: over the positions attended to, all in sight if null. */
    average(attended, start2, end2, length) {
      const { values, mean } = this;
      const many = attended ? attended.length : end2 - start2;
      const whole2 = start2 === 0 && end2 === length && many === length;
      for (let c = 0; c < mean.length; c++) {
        const component = values.component(c);
        let sum2;
        if (whole2) sum2 = values.sums[c];
        else if (attended) {
          sum2 = component[attended[0]];
          for (let n = 1; n < many; n++) sum2 += component[attended[n]];
        } else {
          sum2 = component[start2];
          for (let j = start2 + 1; j < end2; j++) sum2 += component[j];
        }
        mean[c] = sum2 / many;
      }
    }
  };
  function best(scores, start2) {
    let first = 0;
    let count2 = 1;
    let runner = -1;
    let most = scores[0];
    let second = -Infinity;
    for (let n = 1; n < scores.length; n++) {
      const score = scores[n];
      if (score > most) {
        second = most;
        runner = first;
        most = score;
        first = n;
        count2 = 1;
      } else if (score === most) count2++;
      else if (score > second) {
        second = score;
        runner = n;
      }
    }
    const attended = new Int32Array(count2);
    for (let n = first, k = 0; k < count2; n++) if (scores[n] === most) attended[k++] = start2 + n;
    return { scores, attended, runner: runner < 0 ? -1 : start2 + runner };
  }

  // src/live/norm.ts
  var LayerNorm = class {
    /** where: what the norm is called in refusals. */
    constructor(norm, where) {
      this.where = where;
      [this.gain, this.bias, this.epsilon] = [vector(norm.gain), vector(norm.bias), norm.epsilon];
    }
    where;
    gain;
    bias;
    epsilon;
    /** gain · ((x - μ) / √(σ² + ε)) + bias: x (width,), which stays as it is, → (width,). */
    of(x, position) {
      if (!x.length) return x;
      const centred = new Float64Array(x.length);
      let sum2 = x[0];
      for (let n = 1; n < x.length; n++) sum2 += x[n];
      const mean = sum2 / x.length;
      for (let n = 0; n < x.length; n++) centred[n] = x[n] - mean;
      let squares = centred[0] * centred[0];
      for (let n = 1; n < x.length; n++) squares += centred[n] * centred[n];
      const root = Math.sqrt(squares / x.length + this.epsilon);
      const here = `${this.where}, position ${thousands(position)}`;
      if (root === 0) throw new Refused(`${here}: its variance and its epsilon are 0, so that it divides by 0: use an epsilon above 0`);
      if (!(root < Infinity)) throw new Refused(`${here}: the variance is too large for float64: use smaller weights`);
      for (let n = 0; n < x.length; n++) centred[n] = this.gain[n] * (centred[n] / root) + this.bias[n];
      return centred;
    }
  };
  function read(norm, x, position) {
    return norm ? norm.of(x, position) : x;
  }

  // src/live/positions.ts
  var FEATURES = {
    "1/(i+1)": (i) => 1 / (i + 1),
    "1": () => 1,
    i: (i) => i,
    "i^2": (i) => i * i,
    "prime(i)": (i) => Number(isPrime(i)),
    "square(i)": (i) => Number(Math.round(Math.sqrt(i)) ** 2 === i),
    "power of 2(i)": (i) => Number(i > 0 && (i & i - 1) === 0),
    "(-1)^i": (i) => 1 - 2 * (i % 2)
  };
  var MODULO = /^i mod ([1-9][0-9]*) = (0|[1-9][0-9]*)$/;
  function feature(name) {
    if (Object.hasOwn(FEATURES, name)) return FEATURES[name];
    const found = MODULO.exec(name);
    if (!found) throw new Error(`unknown position feature '${name}'`);
    const [modulus, remainder] = [Number(found[1]), Number(found[2])];
    return (i) => Number(i % modulus === remainder);
  }
  function largest(name, i) {
    return name === "i" || name === "i^2" ? feature(name)(i) : 1;
  }
  function isPrime(i) {
    for (let divisor = 2; divisor * divisor <= i; divisor++) if (i % divisor === 0) return false;
    return i > 1;
  }

  // src/live/overflow.ts
  var MOST_POSITIONS = 2 ** 31;
  var SAFE = 1e290;
  function everythingIsFinite(decoder) {
    if (decoder.loops.length) return false;
    let x = new Float64Array(decoder.width);
    const raise = (by) => {
      const most = new Float64Array(x.length);
      by.rows.forEach((row, n) => most[row] = Math.max(most[row], Math.abs(by.values[n])));
      x = sum(x, most);
    };
    raise(decoder.tokens);
    x = sum(x, times(decoder.place, Float64Array.from(decoder.features, (name) => largest(name, MOST_POSITIONS))));
    if (decoder.table) raise(decoder.table);
    let fine = small(x);
    for (const { heads, feedForward, attentionNorm, feedForwardNorm } of decoder.layers) {
      const [attends, reads2] = normed(attentionNorm, x);
      const sizes = heads.map((head) => ofHead(head, reads2));
      fine = fine && attends && sizes.every(([safe]) => safe);
      for (const [, added] of sizes) x = sum(x, added);
      if (feedForward) {
        const [feeds, given] = normed(feedForwardNorm, x);
        const [safe, added] = ofFeedForward(feedForward, given);
        fine = fine && feeds && safe;
        x = sum(x, added);
      }
      fine = fine && small(x);
    }
    const [answers, reads] = normed(decoder.norm, x);
    return fine && answers && small(sum(times(decoder.unembedding, reads), column2(decoder.unembeddingBias)));
  }
  function normed(norm, x) {
    if (!norm) return [true, x];
    const variance = 4 * x.length * x.reduce((most, value) => Math.max(most, value), 0) ** 2;
    const bound = sum(
      column2(norm.gain).map((value) => value * Math.sqrt(x.length)),
      column2(norm.bias)
    );
    return [variance < SAFE && small(bound), bound];
  }
  function ofHead(head, x) {
    const [query, key, value] = [times(head.query, x), times(head.key, x), times(head.value, x)];
    const asked = new Set(head.query.rows);
    let score = 0;
    let fine = true;
    for (const c of new Set(head.key.rows)) {
      if (!asked.has(c)) continue;
      score += query[c] * key[c];
      fine = fine && query[c] < SAFE && key[c] < SAFE;
    }
    return [fine && score < SAFE && small(value.map((each) => each * MOST_POSITIONS)), times(head.output, value)];
  }
  function ofFeedForward(layer, x) {
    const hidden = sum(times(layer.input, x), column2(layer.inputBias));
    return [small(hidden), sum(times(layer.output, hidden), column2(layer.outputBias))];
  }
  function times(matrix, x) {
    const found = new Float64Array(matrix.height);
    matrix.rows.forEach((row, n) => found[row] += Math.abs(matrix.values[n]) * x[matrix.columns[n]]);
    return found;
  }
  function column2(matrix) {
    return times(matrix, Float64Array.of(1));
  }
  function sum(a, b) {
    return a.map((value, n) => value + b[n]);
  }
  function small(numbers) {
    return numbers.every((number2) => number2 < SAFE);
  }

  // src/live/dense.ts
  var ONE = Float64Array.of(1);
  var Weights = class {
    constructor(decoder) {
      this.decoder = decoder;
      this.careful = !everythingIsFinite(decoder);
      this.features = decoder.features.map(feature);
      this.tokens = new ColumnsOf(decoder.tokens);
      this.place = new LinearMap(decoder.place);
      this.table = decoder.table && new ColumnsOf(decoder.table);
      this.layers = decoder.layers.map((_, n) => this.partsOf(n));
      this.uniform = this.layers.map(({ heads }) => heads.map((head) => head.uniform));
      this.norm = decoder.norm && new LayerNorm(decoder.norm, "norm before the unembedding");
      this.unembedding = new LinearMap(decoder.unembedding);
      this.bias = vector(decoder.unembeddingBias);
    }
    decoder;
    /** By layer and head, whether all its scores are 0 by construction. */
    uniform;
    layers;
    careful;
    features;
    tokens;
    place;
    table;
    norm;
    unembedding;
    bias;
    embedded(token2, position) {
      const x = new Float64Array(this.decoder.width);
      this.tokens.addTo(x, token2);
      this.place.addTo(x, Float64Array.from(this.features, (at) => at(position)));
      if (this.table) {
        if (position >= this.table.length) throw beyondTheTable(position);
        this.table.addTo(x, position);
      }
      this.check(x, -1, position);
      return x;
    }
    /** Add to x what the heads of layer n carry: all of them read the stream before any writes to it. */
    attend(n, x, reads, position, length, watch) {
      const { heads } = this.layers[n];
      const looks3 = heads.map((head) => head.look(reads, position, length));
      if (watch) looks3.forEach((look, k) => watch.head(n, k, look));
      for (const { rows, added } of heads) for (let r = 0; r < rows.length; r++) x[rows[r]] += added[r];
    }
    /** Add to x what the feed-forward part of layer n answers. */
    feedForward(n, x, position, watch) {
      const { feedForward: part, feedForwardNorm } = this.layers[n];
      watch?.stage(n, "attention", x);
      if (part) {
        const reads = read(feedForwardNorm, x, position);
        const hidden = part.inputBias.slice();
        part.input.addTo(hidden, reads);
        if (this.careful) this.checkHidden(n, part, hidden, position);
        for (let u = 0; u < hidden.length; u++) if (!(hidden[u] > 0)) hidden[u] = 0;
        part.output.addTo(x, hidden);
        part.outputBias.addTo(x, ONE);
      }
      this.check(x, n, position);
      watch?.stage(n, "feed_forward", x);
    }
    /** The logits of a position: (answers,). */
    answers(x, position) {
      const logits = this.bias.slice();
      this.unembedding.addTo(logits, read(this.norm, x, position));
      const wrong = this.careful ? firstInfinite(logits) : -1;
      if (wrong >= 0) throw tooLarge("unembedding", position, `the logit of ${quoted(answered(this.decoder)[wrong])}`);
      return logits;
    }
    partsOf(n) {
      const { heads, feedForward, attentionNorm, feedForwardNorm } = this.decoder.layers[n];
      const where = layerCalled(this.decoder, n + 1);
      return {
        attentionNorm: attentionNorm && new LayerNorm(attentionNorm, `${where}, norm before attention`),
        heads: heads.map((head) => new AttentionHead(head, where, this.careful)),
        feedForwardNorm: feedForwardNorm && new LayerNorm(feedForwardNorm, `${where}, norm before feed-forward`),
        feedForward: feedForward && {
          input: new LinearMap(feedForward.input),
          inputBias: vector(feedForward.inputBias),
          output: new LinearMap(feedForward.output),
          outputBias: new LinearMap(feedForward.outputBias),
          writes: Int32Array.from(new Set(feedForward.output.columns)).sort()
        }
      };
    }
    /** Refuse a stream that is not finite after a layer, from 0; -1: after the embedding. */
    check(x, after, position) {
      const wrong = this.careful ? firstInfinite(x) : -1;
      if (wrong < 0) return;
      const direction = this.decoder.names?.directions[wrong] ?? String(wrong);
      const where = after < 0 ? "embedding" : layerCalled(this.decoder, after + 1);
      throw tooLarge(where, position, `direction ${quoted(direction)} of the stream`);
    }
    checkHidden(n, { writes }, hidden, position) {
      const unit = writes.find((u) => !Number.isFinite(hidden[u]));
      if (unit === void 0) return;
      const name = this.decoder.names?.units[n]?.[unit] ?? String(unit);
      throw tooLarge(layerCalled(this.decoder, n + 1), position, `the sum of hidden unit ${quoted(name)}`);
    }
  };
  var Dense = class extends Weights {
    position = 0;
    /** (width,) the stream at the last position, after the last layer */
    residual = new Float64Array(0);
    /** (answers,) the logits at the last position */
    logits = new Float64Array(0);
    /** Throws `Refused` if a head looks ahead. */
    constructor(decoder) {
      refuseAhead(decoder);
      super(decoder);
    }
    /** Run the next position on a token, by its number, and return the first token with the largest logit.
     *
     * Throws `Refused` if a number is too large, a layer norm divides by 0, or the position table has no such position; the
     * session cannot be used after that.
     */
    feed(token2, watch) {
      const { position } = this;
      const x = this.embedded(token2, position);
      watch?.stage(-1, "embedding", x);
      this.layers.forEach(({ heads, attentionNorm }, n) => {
        if (heads.length) {
          const reads = read(attentionNorm, x, position);
          for (const head of heads) head.take(reads);
          this.attend(n, x, reads, position, position + 1, watch);
        }
        this.feedForward(n, x, position, watch);
      });
      [this.residual, this.logits] = [x, this.answers(x, position)];
      this.position++;
      return argmax(this.logits);
    }
  };
  var Whole = class extends Weights {
    run(tokens, watches) {
      const streams = Array.from(tokens, (token2, i) => this.embedded(token2, i));
      for (const [i, watch] of watches) watch.stage(-1, "embedding", streams[i]);
      const through = (from, to) => {
        for (let n = from; n < to; n++) this.layer(n, streams, watches);
      };
      let done = 0;
      for (const loop of this.decoder.loops) {
        through(done, loop.first - 1);
        this.repeat(loop, streams, () => through(loop.first - 1, loop.last));
        done = loop.last;
      }
      through(done, this.layers.length);
      return streams.map((residual, i) => ({ residual, logits: this.answers(residual, i) }));
    }
    /** Run layer n, from 0, at all positions. */
    layer(n, streams, watches) {
      const { heads, attentionNorm } = this.layers[n];
      if (heads.length) {
        const reads = streams.map((x, i) => read(attentionNorm, x, i));
        for (const head of heads) head.forget();
        for (const x of reads) for (const head of heads) head.take(x);
        streams.forEach((x, i) => this.attend(n, x, reads[i], i, streams.length, watches.get(i)));
      }
      streams.forEach((x, i) => this.feedForward(n, x, i, watches.get(i)));
    }
    /** Make the passes of a loop. */
    repeat({ first, last, times: times2, until }, streams, pass) {
      const row = until && new LinearMap(until);
      const ended = (x) => {
        const found = new Float64Array(1);
        row.addTo(found, x);
        return found[0] >= 0.5;
      };
      for (let number2 = 1; number2 <= (times2 ?? MOST_PASSES); number2++) {
        pass();
        if (row && streams.every(ended)) return;
      }
      if (times2 === null) throw new Refused(`the loop over layers ${first} to ${last} has not ended after ${thousands(MOST_PASSES)} passes: state how often it is run at most`);
    }
  };
  var MOST_PASSES = 1e4;
  function wholeRun(decoder, tokens, watches = /* @__PURE__ */ new Map()) {
    return new Whole(decoder).run(tokens, watches);
  }
  function argmax(numbers) {
    let found = 0;
    for (let n = 1; n < numbers.length; n++) if (numbers[n] > numbers[found]) found = n;
    return found;
  }
  function refuseAhead(decoder) {
    if (decoder.loops.length) throw new Refused("these weights run layers again, so they cannot run position by position: run the whole sequence at once");
    const head = decoder.layers.flatMap(({ heads }) => heads).find(({ mask }) => mask !== "future");
    if (!head) return;
    const what = `head ${quoted(head.name)} has the mask ${quoted(head.mask)} and looks ahead`;
    throw new Refused(`${what}, so it cannot run position by position: run the whole sequence at once`);
  }

  // src/live/generate.ts
  function prompted(decoder, prompt) {
    const { vocabulary, bos, positions: positions2, outputs } = decoder;
    const numbers = new Map(vocabulary.map((token2, n) => [token2, n]));
    const found = prompt.map((token2, i) => {
      const number2 = numbers.get(token2);
      if (number2 !== void 0) return number2;
      const more = vocabulary.length > 8 ? ", …" : "";
      throw new Refused(`token ${i} of the prompt, ${quoted(token2)}, is not in the vocabulary: use ${vocabulary.slice(0, 8).join(", ")}${more}`);
    });
    if (!found.length && bos === null) throw new Refused("the prompt is empty, and these weights have no BOS to start with: give at least one token");
    if (bos !== null) found.push(bos);
    if (positions2 !== null && found.length > positions2) {
      const longer = outputs.length ? `, or compile the program with --max-length ${prompt.length}` : "";
      const what = `the prompt has ${counted(prompt.length, "token")}, and these weights have ${counted(positions2, "position")}`;
      throw new Refused(`${what}: give a shorter one${longer}`);
    }
    return found;
  }
  function* generate(decoder, given, maxPositions = Infinity, watch) {
    const most = Math.min(maxPositions, decoder.positions ?? Infinity);
    const stop = new Set(decoder.stop);
    const session = new Dense(decoder);
    let answer = -1;
    for (let position = 0; position < most; position++) {
      const fed = given[position] ?? answer;
      answer = session.feed(fed, watch);
      yield { position, fed, answer, residual: session.residual, logits: session.logits };
      if (stop.has(answer) && position + 1 >= given.length) return;
    }
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
  var SPEEDS = [0.5, 1, 2, 4, 8, 16, 32, 64, 250, 1e3];
  var PLAY = "M8 5v14l11-7z";
  var PAUSE = "M6 5h4v14H6zM14 5h4v14h-4z";
  var keys = (graph) => [
    ["Space", "play, pause"],
    ["→ ←", "one step forward, one step back"],
    ["Shift → ←", "ten steps forward, ten steps back"],
    ["Page Down, Page Up", "a hundred steps forward, a hundred steps back"],
    ["Home, End", "the first position, the last position"],
    ["↓ ↑", "the next layer, the previous layer; after the last comes the embedding"],
    ["g", `enlarge the ${graph} to the whole window, and back`],
    ["+ −", "faster, slower"],
    ["j", "jump to a position"],
    ["d", "jump to the first divergence, if there is one"],
    ["r", "show the raw numbers of the residual stream"],
    ["t", "light, dark, or the system's setting"],
    ["?", "show these keys"]
  ];
  var Controls = class {
    constructor(store, root, signal, settings) {
      this.store = store;
      this.root = root;
      this.settings = settings;
      const { last } = store;
      const button = (name, path, act, kind = "") => el("button", { type: "button", class: `control ${kind}`, "aria-label": name, title: name, click: act }, icon(path));
      this.play = button("Play", PLAY, () => store.toggle(), "play");
      this.slider = el("input", { type: "range", min: store.first, max: last, step: 1, "aria-label": "Position", input: () => store.set({ i: Number(this.slider.value), playing: false }) });
      this.jump = el("input", { type: "number", min: 0, max: last, "aria-label": "Jump to position", change: () => store.set({ i: Number(this.jump.value), playing: false }) });
      this.jump.style.width = `${String(last).length + 4}ch`;
      this.speed = el(
        "select",
        { "aria-label": "Speed", title: "positions per second", change: () => store.set({ speed: Number(this.speed.value) }) },
        ...SPEEDS.map((speed) => el("option", { value: speed }, `${speed}/s`))
      );
      this.element = el(
        "nav",
        { class: "controls", "aria-label": "Playing" },
        button("First position", "M6 5h2.5v14H6zM20 5v14l-10-7z", () => store.begin(), "wide-only"),
        button("Back", "M17 5v14L7 12z", () => store.step(-1)),
        this.play,
        button("Step", "M7 5v14l10-7z", () => store.step(1)),
        button("Last position", "M15.5 5H18v14h-2.5zM4 5v14l10-7z", () => store.set({ i: last, playing: false }), "wide-only"),
        this.slider,
        el("label", { class: "jump" }, this.jump, ` of ${last.toLocaleString("en")}`),
        this.speed
      );
      this.help = el(
        "dialog",
        { class: "help", "aria-label": "Keys" },
        el("h2", {}, "Keys"),
        el("dl", {}, ...keys(settings.graph).flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
        el("form", { method: "dialog" }, el("button", { class: "small" }, "Close"))
      );
      store.subscribe((now) => this.draw(now));
      addEventListener("keydown", (event) => this.key(event), { signal });
      if (settings.address) addEventListener("hashchange", () => store.set({ ...fromAddress(), playing: false }), { signal });
      signal.addEventListener("abort", () => clearTimeout(this.timer));
    }
    store;
    root;
    settings;
    element;
    help;
    slider;
    jump;
    speed;
    play;
    timer = 0;
    draw(now) {
      this.slider.value = String(now.i);
      set(this.slider, { "aria-valuetext": `position ${now.i} of ${this.store.last}` });
      if (document.activeElement !== this.jump) this.jump.value = String(now.i);
      this.speed.value = String(now.speed);
      const name = now.playing ? "Pause" : "Play";
      set(this.play, { "aria-label": name, title: name, "data-playing": String(now.playing) });
      set(this.play.querySelector("path"), { d: now.playing ? PAUSE : PLAY });
      clearTimeout(this.timer);
      if (!this.settings.address) return;
      this.timer = window.setTimeout(() => toAddress(now, this.store.home), now.playing ? 400 : 80);
    }
    key(event) {
      const target = event.target;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
      if (target === this.jump || target instanceof HTMLSelectElement) {
        if (event.key === "Enter" || event.key === "Escape") target.blur();
        return;
      }
      if (target !== this.slider && (target.matches("input, textarea") || target.isContentEditable)) return;
      if (target.matches("button, summary") && (event.key === " " || event.key === "Enter")) return;
      if (target.matches(".graph.partly") && event.key.startsWith("Arrow")) return;
      const act = this.action(event);
      if (!act) return;
      event.preventDefault();
      act();
    }
    /** Choose the layer before or after, the embedding between the last and the first, and bring it into view. */
    turn(by) {
      const stages = this.store.layers + 1;
      this.store.set({ layer: (this.store.now.layer + 1 + by + stages) % stages - 1 });
      requestAnimationFrame(() => this.root.querySelector(".layer.chosen")?.scrollIntoView({ block: "nearest" }));
    }
    action(event) {
      const { store, root } = this;
      const { divergence, theme: theme2 } = this.settings;
      const faster = (by) => () => store.set({ speed: SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(store.now.speed) + by))] });
      const actions = {
        " ": () => store.toggle(),
        k: () => store.toggle(),
        ArrowRight: () => store.step(event.shiftKey ? 10 : 1),
        ArrowLeft: () => store.step(event.shiftKey ? -10 : -1),
        ArrowUp: () => this.turn(-1),
        ArrowDown: () => this.turn(1),
        PageDown: () => store.step(100),
        PageUp: () => store.step(-100),
        Home: () => store.begin(),
        End: () => store.step(Infinity),
        "+": faster(1),
        "=": faster(1),
        "-": faster(-1),
        j: () => this.jump.select(),
        g: () => root.querySelector("[data-enlarges]")?.click(),
        r: () => store.set({ raw: !store.now.raw }),
        t: () => theme2?.(),
        "?": () => this.help.showModal()
      };
      if (root.querySelector(".graph-panel.large")) actions["Escape"] = actions["g"];
      if (divergence !== null) actions["d"] = () => store.set({ i: divergence, playing: false });
      return actions[event.key];
    }
  };
  function leavesFocus(root, signal) {
    const prevent = (event) => {
      if (event.target.closest("button")) event.preventDefault();
    };
    root.addEventListener("mousedown", prevent, signal ? { signal } : {});
  }
  function fromAddress() {
    const said = new URLSearchParams(location.hash.slice(1));
    const found = {};
    const [i, layer] = [said.get("i"), said.get("layer")];
    if (i !== null && /^\d+$/.test(i)) found.i = Number(i);
    if (layer !== null && /^\d+$/.test(layer)) found.layer = Number(layer) - 1;
    return found;
  }
  function toAddress({ i, layer }, home) {
    const hash = `#i=${i}${layer === home ? "" : `&layer=${layer + 1}`}`;
    if (hash === location.hash) return;
    try {
      history.replaceState(null, "", hash);
    } catch {
    }
  }

  // src/circuit.ts
  var Circuit = class {
    constructor(spec, buffers) {
      this.spec = spec;
      this.kinds = buffers(spec.kinds);
      this.places = spec.operands.map(buffers);
      for (const [name, net] of spec.outputs) this.driven.set(net, [...this.driven.get(net) ?? [], name]);
    }
    spec;
    kinds;
    places;
    driven = /* @__PURE__ */ new Map();
    /** The number of nets: inputs, then gates. */
    get size() {
      return this.spec.nets.length;
    }
    name(net) {
      return this.spec.nets[net];
    }
    isInput(net) {
      return net < this.spec.inputs;
    }
    /** The net whose bit is answered at position i; null before the last input, and after the last gate. */
    answered(i) {
      return i + 1 < this.spec.inputs || i + 1 >= this.size ? null : i + 1;
    }
    /** The operands of the gate of a net, in order; of an input none. */
    operands(net) {
      if (this.isInput(net)) return [];
      return this.places.map((place) => place[net - this.spec.inputs]).filter((operand) => operand >= 0);
    }
    /** What the gate of a net does, in a word. */
    kind(net) {
      return this.isInput(net) ? "input" : this.spec.functions[this.kinds[net - this.spec.inputs]].name;
    }
    /** The truth table of the gate of a net. */
    table(net) {
      return this.spec.functions[this.kinds[net - this.spec.inputs]].table;
    }
    /** The gate of a net as a formula: `XOR(a, b)`. */
    formula(net) {
      return `${this.kind(net)}(${this.operands(net).map((operand) => this.name(operand)).join(", ")})`;
    }
    /** A net in words: `a, an input`, or `sum = XOR(a, b)`. */
    said(net) {
      return this.isInput(net) ? `${this.name(net)}, an input` : `${this.name(net)} = ${this.formula(net)}`;
    }
    /** The outputs that a net drives. */
    outputs(net) {
      return this.driven.get(net) ?? [];
    }
  };
  var Bits = class {
    constructor(circuit, run2) {
      this.circuit = circuit;
      this.run = run2;
    }
    circuit;
    run;
    /** The bit of a net as the decoder has it once position i has answered; null if it has none yet. */
    at(net, i) {
      if (net <= i) return this.run.rows.fed(net);
      return net === i + 1 && net === this.circuit.answered(i) ? this.run.rows.answer(i) : null;
    }
    /** The bit of an input, which is known before it is given, or of any other net as `at` has it. */
    known(net, i) {
      return net < Math.min(this.circuit.spec.inputs, this.run.count) ? this.run.rows.fed(net) : this.at(net, i);
    }
    /** What the bit of a net should be, if the check found that it is something else. */
    wrong(net) {
      const { columns } = this.run.spec;
      const [column3, i] = this.circuit.isInput(net) ? [columns[0], net] : [columns.at(-1), net - 1];
      return i < this.run.count ? this.run.wrong(column3.name, i) : void 0;
    }
    /** What a gate makes of the bits that its operands have at position i; null if one has none. */
    computed(net, i) {
      const bits = this.circuit.operands(net).map((operand) => this.at(operand, i));
      if (bits.some((bit) => bit !== "0" && bit !== "1")) return null;
      return this.circuit.table(net)[bits.reduce((index, bit) => 2 * index + Number(bit), 0)];
    }
  };

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
  function symbolOf(name) {
    const match = /^e_(\w)(?:\((.*)\))?$/.exec(name);
    return match ? match[2] ? `${match[1]}_{${match[2]}}` : match[1] : name;
  }
  function number(value, i) {
    if (Number.isInteger(value)) return String(value).replace("-", "−");
    const above = Math.round(value * (i + 1));
    if (above !== 0 && above / (i + 1) === value) return `${above}/${i + 1}`.replace("-", "−");
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
  function words(subspace, value, i) {
    if (!subspace.labels) return number(value.number, i);
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
  var STOP = "stop";
  var VERDICTS = { accept: "accepts", reject: "rejects", halt: "halts" };
  var MOVES = { "-1": "L", "0": "S", "1": "R" };
  var MOVED = { "-1": "moved left", "0": "did not move", "1": "moved right" };
  function token(text) {
    return el("b", { class: "mono" }, text);
  }
  function described(run2, description, i) {
    const rule = description?.ruleAt(i);
    const place = ["The prompt describes the machine: ", token(run2.rows.fed(i))];
    if (!rule) return [...place, i > 0 ? "." : run2.rows.fed(i) === "one-way" ? " says that its tape has a left end." : " says that its tape goes on in both directions."];
    if (i === rule.key) return [...place, " is what the next rule is for: a state, and the symbol under the head."];
    return [...place, " is what the rule for ", token(rule.wanted), " answers."];
  }
  function ruled({ wanted, found }, atWall, answer, end2) {
    const next = end2 ? "the answer is " : "the next token is ";
    if (!found) return ["The prompt has no rule for ", token(wanted), `, and ${next}`, token(answer), "."];
    const says = ["The prompt's rule for ", token(wanted), " says ", token(found.answer)];
    if (found.answer === answer) return [...says, `, and that is ${end2 ? "the answer" : "the next token"}.`];
    const stays = atWall && answer === found.answer.replace(/-1\)$/, "0)");
    return [...says, stays ? `; at the left end the head stays, so ${next}` : `, but ${next}`, token(answer), "."];
  }
  function lookedUp({ wanted, look, found, due }) {
    const asked = ["looks for ", token(wanted)];
    if (found) return [...asked, " and finds ", token(`→${found.answer}`), `, at position ${found.value}`];
    if (due) return [...asked, ` but not at position ${due.value}, where that rule is`];
    const spread = look.uniform ? "all positions share" : look.count > 1 ? `${count(look.count, "position")} share` : `position ${look.winner} has`;
    return [...asked, ": no rule: ", token("HALT"), ` (${spread} the weight)`];
  }
  function plainStory(run2, i) {
    const { rows } = run2;
    if (i < run2.turn) return ["The prompt: ", token(rows.fed(i)), ". What the decoder answers to it is not used."];
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
      const triple2 = (move) => `(${machine.states[r].name},${b},${move > 0 ? "+" : ""}${move})`;
      let link = answer === triple2(m) ? ", so the next token is " : ", but the next token is ";
      if (end2) link = ", and the answer is ";
      else if (machine.tape === "one-way" && head === 0 && m < 0 && answer === triple2(0)) link = "; at the left end the head stays, so the next token is ";
      return [...said, ": ", token(why), link, token(answer), "."];
    }
    return [...said, end2 ? ": the answer is " : ": the next token is ", token(answer), "."];
  }
  function ruleAt(machine, state, symbol) {
    const q = machine.states.findIndex(({ name }) => name === state);
    return machine.rules.find((rule) => rule[0] === q && rule[1] === symbol);
  }

  // src/live/truth/circuit.ts
  var OPERANDS = 3;
  function evaluated({ gates }, word) {
    const bits = word.map(Number);
    for (const { table: table2, operands } of gates) bits.push(Number(table2[operands.reduce((index, net) => 2 * index + bits[net], 0)]));
    return bits;
  }
  function positions({ inputs, gates }, maxSteps) {
    return inputs - 1 + Math.min(maxSteps ?? Infinity, gates.length);
  }
  function* circuitRows(circuit, word, maxSteps, columns) {
    const bits = evaluated(circuit, word);
    for (let i = 0; i < positions(circuit, maxSteps); i++) yield cells(circuit, bits, i, columns);
  }
  function cells({ inputs, gates, names }, bits, i, columns) {
    const gate = gates[i + 1 - inputs];
    const before = i < inputs - 1;
    const found = gate?.operands.length ? gate.operands : [0];
    const places = Array.from({ length: OPERANDS }, (_, n) => found[Math.min(n, found.length - 1)]);
    const cases = 2 ** OPERANDS;
    const digits2 = gate ? [...gate.table].map((bit) => bit.repeat(cases / gate.table.length)).join("") : "0".repeat(cases);
    const known = { x: String(bits[i]), gate: names[digits2] ?? digits2, y: before ? ANY : String(bits[i + 1]) };
    ["a", "b", "c"].forEach((name, n) => {
      known[name] = places[n];
      known[`x_${name}`] = bits[places[n]];
    });
    const signs = gate ? gate.operands.map((net) => 2 * bits[net] - 1) : [];
    known["mean"] = before ? ANY : signs.reduce((sum2, sign) => sum2 + sign, 0) / signs.length;
    return columns.map((name) => {
      const cell = known[name];
      if (cell === void 0) throw new Error(`the evaluator in the page says nothing of the column ${name}`);
      return cell;
    });
  }
  function circuitSays(circuit, word, maxSteps) {
    const last = circuit.inputs + circuit.gates.length - 1;
    return {
      result() {
        if (positions(circuit, maxSteps) < last) return "";
        const bits = evaluated(circuit, word);
        const out = circuit.outputs.map((net) => bits[net]);
        if (circuit.encoding) return hexadecimal(out);
        return circuit.buses.map(({ name, bits: places }) => `${name} = ${whole(places.map((place) => out[place]).reverse())}`).join(", ");
      },
      ending(stop, there) {
        const found = there === null ? "endless" : there.toLocaleString("en-US");
        if (there !== last) return { expected: last.toLocaleString("en-US"), found };
        return stop.length ? { expected: "empty", found: stop.join(", ") } : null;
      }
    };
  }
  function whole(bits) {
    return bits.reduce((number2, bit) => 2n * number2 + BigInt(bit), 0n);
  }
  function hexadecimal(bits) {
    return whole(bits).toString(16).padStart(bits.length / 4, "0");
  }

  // src/live/truth/machine.ts
  var VERDICTS2 = ["ACC", "REJ", "HALT"];
  function triple(state, symbol, move) {
    return `(${state},${symbol},${move > 0 ? "+" : ""}${move})`;
  }
  function* machineRows(machine, word, maxSteps) {
    const { states, blank, lead } = machine;
    const under = word[0] ?? blank;
    for (const token3 of lead) yield [token3, null, null, 0, 0, blank, token3];
    for (const symbol of word) yield [symbol, null, null, 0, 0, under, symbol];
    let token2 = machine.first ?? triple(states[machine.start], under, 0);
    yield ["BOS", null, null, 0, 0, under, token2];
    if (VERDICTS2.includes(token2)) return;
    const rules = new Map(machine.rules.map(([q, a, ...rule]) => [`${q},${a}`, rule]));
    const halting = new Set(machine.halting);
    const tape = new Map(word.map((symbol, cell) => [cell, symbol]));
    let [state, head, written2, moved] = [machine.start, 0, under, 0];
    for (let step = 0; ; step++) {
      const symbol = tape.get(head) ?? blank;
      const rule = halting.has(state) ? void 0 : rules.get(`${state},${symbol}`);
      const row = [token2, states[state], written2, moved, head, symbol];
      if (!rule) {
        const unruled = machine.unruled.find(([q, a]) => q === state && a === symbol);
        yield [...row, unruled?.[2] ?? machine.stopped[state]];
        return;
      }
      if (maxSteps !== null && step >= maxSteps) return;
      const [next, write, move] = rule;
      const made = machine.oneWay && head === 0 && move < 0 ? 0 : move;
      const said = machine.nominal ? move : made;
      token2 = machine.entered[next] ?? triple(states[next], write, said);
      yield [...row, token2];
      if (VERDICTS2.includes(token2)) return;
      tape.set(head, write);
      [state, head, written2, moved] = [next, head + made, write, said];
    }
  }
  function machineSays(machine) {
    return {
      result: () => "",
      ending(stop) {
        const lacking = machine.verdicts.filter((token2) => !stop.includes(token2));
        const early = stop.filter((token2) => !VERDICTS2.includes(token2));
        const listed = (tokens) => tokens.join(", ") || "empty";
        return lacking.length || early.length ? { expected: listed(machine.verdicts), found: listed(stop) } : null;
      }
    };
  }

  // src/live/truth/reference.ts
  var ANY = /* @__PURE__ */ Symbol("any");
  function truthOf(reference, { word, maxSteps, columns, gates }) {
    if (reference.kind === "machine") return { lead: reference.lead, rows: machineRows(reference, word, maxSteps), ...machineSays(reference) };
    if (!gates) throw new Error("a circuit's reference needs its gates");
    return { lead: [], rows: circuitRows(gates, word, maxSteps, columns), ...circuitSays(gates, word, maxSteps) };
  }
  function agrees(expected, found) {
    return expected === ANY || expected === found;
  }

  // src/live/document.ts
  var NAMES = ["winner", "count", "score", "runner", "runner_score"];
  var Shelf = class {
    columns = [];
    add(values) {
      this.columns.push(values);
      return { type: "f8", at: -this.columns.length, count: values.length };
    }
  };
  function shelved(columns, { at }) {
    return at < 0 ? columns[-1 - at] : null;
  }
  function documented(old, ran, recorder, word, result, shelf) {
    const { rows, expected, divergence, compared: compared2, answer, T } = ran;
    const { shown } = old.live;
    const show = (text) => Object.hasOwn(shown, text) ? shown[text] : visible(text);
    const texts = /* @__PURE__ */ new Map();
    const count2 = rows.length;
    const checked = old.live.reference !== null;
    return {
      ...old,
      T,
      agrees: checked ? !divergence && compared2 > 0 : null,
      compared: compared2,
      answer,
      result,
      input: word.map(show).join(""),
      prompt: ran.prompt,
      lead: ran.lead,
      count: count2,
      rows: sheet(old.columns, rows, texts, show, shelf),
      expected: divergence ? sheet(old.columns, expected, texts, show, shelf) : null,
      checked: expected.length,
      unspecified: unspecified(old.columns, expected, shelf),
      divergence,
      layers: old.layers.map((layer, l) => ({
        ...layer,
        heads: layer.heads.map((head, k) => head.seen ? { ...head, ...looks2(recorder.seen[l][k], count2, shelf) } : head)
      })),
      stages: recorder.written.map((columns) => [...columns].sort(([a], [b]) => a - b).map(([n, { values, others }]) => [n, { values: shelf.add(values.upto(count2)), ...coordinates(others, count2) }])),
      texts: [...texts.keys()]
    };
  }
  function sheet(columns, rows, texts, show, shelf) {
    const interned = (cell) => {
      if (cell === null || cell === ANY) return 0;
      const text = show(String(cell));
      if (!texts.has(text)) texts.set(text, texts.size);
      return texts.get(text) + 1;
    };
    const number2 = (cell) => cell === ANY ? 0 : Number(cell);
    return Object.fromEntries(columns.map(({ name, number: numeric }, n) => [name, shelf.add(Float64Array.from(rows, (row) => (numeric ? number2 : interned)(row[n])))]));
  }
  function unspecified(columns, expected, shelf) {
    const free = columns.flatMap(({ name }, n) => {
      const cells2 = Uint8Array.from(expected, (row) => Number(row[n] === ANY));
      return cells2.includes(1) ? [[name, cells2]] : [];
    });
    return Object.fromEntries(free.map(([name, cells2]) => [name, shelf.add(cells2)]));
  }
  function looks2(seen, count2, shelf) {
    const places = Object.fromEntries(NAMES.map((name) => [name, shelf.add(seen[name].upto(count2))]));
    const sharers = Object.fromEntries([...seen.sharers].filter(([i]) => i < count2));
    return { seen: places, sharers };
  }
  function coordinates(others, count2) {
    const kept = [...others].filter(([i]) => i < count2).sort(([a], [b]) => a - b);
    return kept.length ? { others: Object.fromEntries(kept) } : {};
  }

  // src/live/inputs.ts
  var NEAR = 60;
  var WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]/u;
  var SEPARATORS = /\s*[+*,]\s*/;
  var NUMBER = /^(?:0x([0-9a-f]+)|0b([01]+)|([0-9]+))$/i;
  var MOST_NAMED = 8;
  var BLOCK_BYTES = 64;
  function wordOf(box, text) {
    const signs = [...text];
    if (box.circuit) return [...bitsOf(box, text)];
    if (box.alphabet) checkSymbols(box, box.alphabet, signs);
    return signs;
  }
  function checkSymbols({ name, blank }, alphabet, signs) {
    const known = new Set(alphabet);
    const first = signs.findIndex((sign) => !known.has(sign));
    if (first < 0) return;
    const near = signs.slice(Math.max(0, first - NEAR), first + NEAR);
    const shown = near.map((sign) => visible(sign) === sign ? sign : "�").join("");
    const marks = near.map((sign) => (known.has(sign) ? " " : "^").repeat(WIDE.test(sign) ? 2 : 1)).join("").trimEnd();
    const symbols = alphabet.length ? `{${alphabet.map(visible).join(", ")}}` : "empty";
    const why = signs[first] === blank ? " (it is the blank)" : "";
    throw new Refused(`input of ${name}: position ${first}: ${quoted(signs[first])} is not in the input alphabet${why}: use only its symbols (${symbols})
  ${shown}
  ${marks}`);
  }
  function bitsOf({ name, circuit }, text) {
    const { inputs, encoding, buses } = circuit;
    const bits = text.trim();
    const refused = (what, remedy) => new Refused(`input of ${name}: ${what}: ${remedy}`);
    const named = buses.slice(0, MOST_NAMED).map((bus) => `${visible(bus.name)} (${counted(bus.bits.length, "bit")})`);
    const wanted = `a number for each of ${named.join(", ")}${buses.length > named.length ? ` and ${buses.length - named.length} more` : ""}`;
    if (bits.length === inputs && /^[01]*$/.test(bits)) return bits;
    if (encoding) return padded(text);
    if (/^[01]*$/.test(bits)) throw refused(`${counted(bits.length, "bit")} for ${counted(inputs, "input")}`, `give a bit for each input, or ${wanted}`);
    const parts = bits.split(SEPARATORS);
    if (parts.length !== buses.length) throw refused(`${counted(parts.length, "number")} where there must be ${buses.length}`, `give a bit for each input, or ${wanted}`);
    const found = new Array(inputs).fill("0");
    buses.forEach((bus, n) => {
      const part = parts[n];
      const short = quoted(part.length <= 30 ? part : `${part.slice(0, 30)}…`);
      const number2 = NUMBER.exec(part);
      if (!number2) throw refused(`${short} is not a number`, `give ${wanted}, such as 58, 0x3A or 0b111010`);
      const digits2 = number2[1] ? `0x${number2[1]}` : number2[2] ? `0b${number2[2]}` : number2[3];
      const value = BigInt(digits2);
      const width = bus.bits.length;
      if (value >> BigInt(width)) throw refused(`${short} does not fit ${visible(bus.name)}, which has ${counted(width, "bit")}`, `use at most ${width <= 64 ? (1n << BigInt(width)) - 1n : `2^${width} - 1`}`);
      bus.bits.forEach((place, k) => found[place] = String(value >> BigInt(k) & 1n));
    });
    return found.join("");
  }
  function bytesOf(text) {
    const digits2 = /^0x([0-9a-fA-F]+)$/.exec(text)?.[1];
    if (digits2 === void 0) return new TextEncoder().encode(text);
    if (digits2.length % 2) {
      const own = Array.from(text.slice(0, 4), (sign) => sign.charCodeAt(0).toString(16).padStart(2, "0")).join("");
      const shown = text.length <= 40 ? text : `${text.slice(0, 40)}…`;
      const what = `${shown} has ${counted(digits2.length, "digit")} after 0x`;
      throw new Refused(`input: ${what}: write two for each byte; the bytes of this text itself are 0x${own}…`);
    }
    return Uint8Array.from(digits2.match(/../g), (pair) => parseInt(pair, 16));
  }
  function padded(text) {
    const message = bytesOf(text);
    const most = BLOCK_BYTES - 9;
    if (message.length > most) {
      const what = `the text has ${counted(message.length, "byte")}, and one block of SHA-256 takes ${most}`;
      throw new Refused(`input: ${what}: shorten it; a longer text would need a circuit of more blocks`);
    }
    const block = new Uint8Array(BLOCK_BYTES);
    block.set(message);
    block[message.length] = 128;
    new DataView(block.buffer).setBigUint64(BLOCK_BYTES - 8, BigInt(8 * message.length));
    return Array.from(block, (byte) => byte.toString(2).padStart(8, "0")).join("");
  }
  function hint({ alphabet, blank, circuit, examples }) {
    const quote = (text) => text === "" ? "the empty word" : visible(text);
    const such = examples.length ? `, such as ${examples.slice(0, 4).map(quote).join(", ")}` : "";
    if (circuit?.encoding) return "any text, bytes such as 0x616263, or a bit for each input";
    if (circuit) {
      const whole2 = circuit.buses.some((bus) => bus.bits.length > 1) ? `, or a number for each of ${circuit.buses.map((bus) => visible(bus.name)).join(", ")}` : "";
      return `${counted(circuit.inputs, "bit")}, one for each input${whole2}`;
    }
    if (!alphabet) return "one token for each character";
    if (!alphabet.length) return "the empty word alone: the machine has no input symbols";
    return `symbols ${alphabet.map((a) => a === " " ? "␣ (space)" : visible(a)).join(" ")}${such}; the blank is ${blank === " " ? "␣ (space)" : visible(blank ?? "")}`;
  }

  // src/live/python.ts
  function plainNumber(value) {
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return String(value + 0);
    return special(value) ?? pointed(value.toExponential(), 16);
  }
  function sixDigits(value) {
    return special(value) ?? pointed(value.toExponential(5), 6, true);
  }
  function special(value) {
    if (Object.is(value, -0)) return "-0";
    if (Number.isNaN(value)) return "nan";
    return Number.isFinite(value) ? null : value > 0 ? "inf" : "-inf";
  }
  function pointed(text, most, short = false) {
    const [mantissa, power] = text.split("e");
    const exponent = Number(power);
    const sign = mantissa.startsWith("-") ? "-" : "";
    let digits2 = mantissa.replace(/[-.]/g, "").replace(/0+$/, "") || "0";
    if (exponent < -4 || exponent >= most) {
      const fraction = digits2.slice(1) ? `.${digits2.slice(1)}` : "";
      return `${sign}${digits2[0]}${fraction}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits2}`;
    digits2 = digits2.padEnd(exponent + 1, "0");
    const rest = digits2.slice(exponent + 1);
    return `${sign}${digits2.slice(0, exponent + 1)}${rest ? `.${rest}` : short ? "" : ".0"}`;
  }

  // src/live/readout.ts
  function startsOf(subspaces) {
    const starts = [0];
    for (const { labels } of subspaces) starts.push(starts.at(-1) + (labels ? labels.length : 1));
    return starts;
  }
  var Readout = class {
    constructor(columns, subspaces) {
      this.columns = columns;
      this.subspaces = subspaces;
      this.starts = startsOf(subspaces);
    }
    columns;
    subspaces;
    starts;
    /** The cells of a position; x: (width,) the stream after the last layer. */
    cells(fed, answer, x) {
      return this.columns.map((column3) => {
        switch (column3.kind) {
          case "fed":
            return fed;
          case "answered":
            return answer;
          case "bits":
            return this.bits(column3, x);
          case "label":
            return label(column3.labels ?? this.subspaces[column3.at].labels, this.part(column3.at, x));
          case "number":
            return x[this.starts[column3.at]] + 0;
        }
      });
    }
    part(n, x) {
      return x.subarray(this.starts[n], this.starts[n + 1]);
    }
    bits({ bits, names }, x) {
      const values = bits.map((n) => x[this.starts[n]]);
      const digits2 = values.every((value) => value === 0 || value === 1) ? values.map((value) => String(value + 0)).join("") : "";
      if (names[digits2] || digits2) return names[digits2] ?? digits2;
      return combination(bits.map((n) => this.subspaces[n].name), values);
    }
  };
  function oneHot(part) {
    let [best2, size] = [0, 0];
    for (let k = 0; k < part.length; k++) {
      if (part[k] > part[best2]) best2 = k;
      size += Math.abs(part[k]);
    }
    if (size === 1 && part[best2] === 1) return best2 + 1;
    return size === 0 ? 0 : -1;
  }
  function label(labels, part) {
    const found = oneHot(part);
    if (found > 0) return labels[found - 1];
    return found === 0 ? null : combination(labels, part);
  }
  function combination(labels, values) {
    const terms = Array.from(values).flatMap((value, k) => value ? [value === 1 ? labels[k] : `${sixDigits(value)}·${labels[k]}`] : []);
    return `⟨${terms.slice(0, 4).join(" + ")}${terms.length > 4 ? " + …" : ""}⟩`;
  }

  // src/live/record.ts
  var MOST_SHARERS = 64;
  var FIRST_SIZE2 = 64;
  var Growing = class {
    values = new Float64Array(FIRST_SIZE2);
    set(i, value) {
      while (i >= this.values.length) {
        const larger = new Float64Array(2 * this.values.length);
        larger.set(this.values);
        this.values = larger;
      }
      this.values[i] = value;
    }
    get(i) {
      return this.values[i];
    }
    upto(count2) {
      return this.values.slice(0, count2);
    }
  };
  var Recorder = class {
    /** heads: the number of heads of each layer. */
    constructor(subspaces, heads) {
      this.subspaces = subspaces;
      this.starts = startsOf(subspaces);
      this.before = new Float64Array(this.starts.at(-1));
      this.standing = subspaces.map(() => ({ value: 0, other: null }));
      this.written = Array.from({ length: 1 + 2 * heads.length }, () => /* @__PURE__ */ new Map());
      this.seen = heads.map((many) => Array.from({ length: many }, () => ({ winner: new Growing(), count: new Growing(), score: new Growing(), runner: new Growing(), runner_score: new Growing(), sharers: /* @__PURE__ */ new Map() })));
    }
    subspaces;
    /** By layer and head. */
    seen;
    /** By stage, the columns of the subspaces that it changes anywhere. */
    written;
    starts;
    before;
    standing;
    position = -1;
    number = 0;
    stage(layer, _part, x) {
      if (layer < 0) [this.position, this.number] = [this.position + 1, 0];
      const [here, columns, first] = [this.position, this.written[this.number], this.number === 0];
      for (let n = 0; n < this.subspaces.length; n++) {
        let column3 = columns.get(n);
        if (first || this.differs(n, x)) {
          this.standing[n] = this.content(n, x);
          column3 ??= this.begun(n, columns);
        }
        if (column3) this.put(column3, here, this.standing[n]);
      }
      this.before.set(x);
      this.number++;
    }
    head(layer, head, look) {
      const [seen, here] = [this.seen[layer][head], this.position];
      const count2 = look ? look.attended.length : here + 1;
      const first = look ? look.attended[0] : 0;
      const runner = look ? look.runner : -1;
      seen.winner.set(here, first);
      seen.count.set(here, count2);
      seen.score.set(here, look ? look.scores[first] : 0);
      seen.runner.set(here, runner);
      seen.runner_score.set(here, runner < 0 ? 0 : look.scores[runner]);
      if (look && runner >= 0 && count2 > 1) seen.sharers.set(here, Array.from(look.attended.subarray(0, MOST_SHARERS)));
    }
    differs(n, x) {
      for (let k = this.starts[n]; k < this.starts[n + 1]; k++) if (x[k] !== this.before[k]) return true;
      return false;
    }
    content(n, x) {
      const { labels } = this.subspaces[n];
      if (labels === null) return { value: x[this.starts[n]], other: null };
      if (!labels.length) return { value: 0, other: null };
      const part = x.subarray(this.starts[n], this.starts[n + 1]);
      const value = oneHot(part);
      return { value, other: value < 0 ? Array.from(part) : null };
    }
    /** A column that begins here: at the positions before, the stage left the subspace as an earlier one had made it. */
    begun(n, columns) {
      const column3 = { values: new Growing(), others: /* @__PURE__ */ new Map() };
      columns.set(n, column3);
      let earlier = this.number - 1;
      while (earlier >= 0 && !this.written[earlier].has(n)) earlier--;
      const old = earlier < 0 ? void 0 : this.written[earlier].get(n);
      for (let i = 0; old && i < this.position; i++) this.put(column3, i, { value: old.values.get(i), other: old.others.get(i) ?? null });
      return column3;
    }
    put(column3, i, { value, other }) {
      column3.values.set(i, value);
      if (other) column3.others.set(i, other);
    }
  };

  // src/live/run.ts
  var STOP2 = "stop";
  var UNSEARCHED = "not searched for in this page; tm2tfr check names it.";
  var OUTCOMES = { ACC: "accept", REJ: "reject", HALT: "halt" };
  function run({ decoder, columns, readout, tape, truth, word, maxSteps }, recorder, progress) {
    const prompt = [...truth?.lead ?? [], ...word];
    const given = prompted(decoder, prompt);
    const most = maxSteps === null ? Infinity : prompt.length + maxSteps + (decoder.bos !== null ? 2 : -1);
    const steps = generate(decoder, given, most, recorder);
    const reader = new Readout(readout, recorder.subspaces);
    const [rows, expected] = [[], []];
    let compared2 = 0;
    let differs = null;
    const next = () => {
      try {
        const step = steps.next();
        if (step.done) return null;
        const { fed, answer: answer2, residual } = step.value;
        return reader.cells(decoder.vocabulary[fed], decoder.vocabulary[answer2], residual);
      } catch (error) {
        if (differs && error instanceof Refused) return null;
        throw error;
      }
    };
    for (; ; ) {
      const want = truth?.rows.next();
      if (want?.done && !differs) break;
      const row = next();
      if (want && !want.done) {
        expected.push(want.value);
        if (!differs) {
          compared2 += want.value.filter((cell) => cell !== ANY).length;
          if (!row || want.value.some((cell, n) => !agrees(cell, row[n]))) differs = { want: want.value, row, position: rows.length };
        }
      }
      if (!row) break;
      rows.push(row);
      if (rows.length % 64 === 0) progress(rows.length);
    }
    const stop = decoder.stop.map((token2) => decoder.vocabulary[token2]);
    const ending2 = truth && (!differs || !differs.row) ? truth.ending(stop, decoder.positions) : null;
    let divergence = null;
    if (ending2) divergence = { position: rows.length - 1, column: STOP2, ...ending2, cause: [UNSEARCHED] };
    else if (differs) divergence = difference(columns, differs);
    const said = rows.length > prompt.length ? String(rows.at(-1).at(-1)) : "";
    const known = tape ? OUTCOMES[said] : stop.includes(said) ? said : void 0;
    const answer = known ?? (rows.length === decoder.positions && !stop.length ? "end" : "limit");
    const T = answer === "limit" ? null : rows.length - prompt.length + (decoder.bos !== null ? -1 : 1);
    return { rows, expected, compared: compared2, divergence, answer, T, prompt: prompt.length, lead: tape ? described2(prompt) : 0 };
  }
  function difference(columns, { want, row, position }) {
    const found = row ?? want.map(() => null);
    const at = want.findIndex((cell, n2) => !agrees(cell, found[n2]));
    const n = at < 0 ? want.length - 1 : at;
    const { name, signed } = columns[n];
    return { position, column: name, expected: written(want[n], signed), found: written(found[n], signed), cause: [UNSEARCHED] };
  }
  function written(cell, signed) {
    if (cell === null || cell === ANY) return "⊥";
    if (typeof cell === "string") return cell;
    return `${signed && cell > 0 ? "+" : ""}${plainNumber(cell)}`;
  }
  function described2(prompt) {
    const first = prompt.findIndex((token2) => [...token2].length === 1);
    return first < 0 ? prompt.length : first;
  }

  // src/live/worker.ts
  function carriedOut({ runs, word, maxSteps, gates }, progress) {
    const shelf = new Shelf();
    let done = 0;
    const made = runs.map(({ spec, decoder }) => {
      const { columns, subspaces, layers, live, tape } = spec;
      const names = columns.map(({ name }) => name);
      const truth = live.reference && truthOf(live.reference, { word, maxSteps, columns: names, gates });
      const recorder = new Recorder(subspaces, layers.map(({ heads }) => heads.length));
      const ran = run({ decoder, columns, readout: live.readout, tape, truth, word, maxSteps }, recorder, (positions2) => progress(done + positions2));
      done += ran.rows.length;
      return documented(spec, ran, recorder, word, truth?.result() ?? "", shelf);
    });
    return { runs: made, columns: shelf.columns };
  }
  function serve() {
    addEventListener("message", ({ data }) => {
      const say = (message, transfer = []) => postMessage(message, { transfer });
      let last = performance.now();
      try {
        const finished = carriedOut(data, (done) => {
          if (performance.now() - last < 50) return;
          last = performance.now();
          say({ done });
        });
        say({ finished }, finished.columns.map(({ buffer }) => buffer));
      } catch (error) {
        say(error instanceof Refused ? { refused: error.message } : { broken: String(error) });
      }
    });
  }
  function ordered(order, script, progress) {
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(address);
    const stop = () => {
      worker.terminate();
      URL.revokeObjectURL(address);
    };
    const finished = new Promise((resolve, reject) => {
      worker.addEventListener("message", ({ data }) => {
        if ("done" in data) return progress(data.done);
        stop();
        if ("finished" in data) resolve(data.finished);
        else reject("refused" in data ? new Refused(data.refused) : new Error(data.broken));
      });
      worker.addEventListener("error", (event) => {
        stop();
        reject(new Error(event.message || "this browser starts no worker here"));
      });
    });
    worker.postMessage(order);
    return { finished, stop };
  }
  function weightsOf({ decoder, dtype }, buffers) {
    if (decoder.none !== void 0) return decoder.none;
    return dtype === "float64" ? decoderOf(decoder, buffers) : `the run was computed in ${dtype}, and the page computes in float64`;
  }

  // src/live/box.ts
  var Box = class {
    constructor(data, buffers, script, show) {
      this.data = data;
      this.buffers = buffers;
      this.script = script;
      this.show = show;
      const { box } = data;
      this.input = el("input", { type: "text", id: "live-input", class: "mono", value: box.word, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": "live-hint live-error", list: box.examples.length ? "live-examples" : null });
      this.steps = el("input", { type: "number", id: "live-steps", min: 1, max: box.most, value: box.steps === null ? null : Math.min(box.steps, box.most), placeholder: "all" });
      this.start = el("button", { type: "submit", class: "small go" }, "Run");
      this.stop = el("button", { type: "button", class: "small", disabled: true, click: () => this.halt() }, "Stop");
      this.back = el("button", { type: "button", class: "small", hidden: true, click: () => this.recorded() }, "the recorded run");
      const units = data.circuit ? "gates" : "steps";
      this.element = el(
        "form",
        { class: "live", "aria-label": "Run in this page", submit: (event) => this.submit(event) },
        el("label", { for: "live-input" }, "another input"),
        this.input,
        el("datalist", { id: "live-examples" }, ...box.examples.map((word) => el("option", { value: word }))),
        el("label", { for: "live-steps", class: "most" }, "at most ", this.steps, ` ${units}`),
        this.start,
        this.stop,
        this.back,
        this.bar,
        el("p", { class: "hint", id: "live-hint" }, hint(box)),
        this.status,
        this.error
      );
      const reason = this.reason();
      if (reason === null) return;
      this.element.replaceChildren(el("p", { class: "hint" }, `No other input can be run in this page: ${reason}.`));
    }
    data;
    buffers;
    script;
    show;
    element;
    input;
    steps;
    start;
    stop;
    back;
    bar = el("progress", { hidden: true, "aria-label": "Positions done" });
    status = el("p", { class: "said-live", role: "status" });
    error = el("pre", { class: "live-error", role: "alert", id: "live-error" });
    weights = null;
    running = null;
    /** Why the page cannot run its weights; null if it can. */
    reason() {
      for (const { decoder, dtype } of this.data.runs) {
        if (decoder.none !== void 0) return decoder.none;
        if (dtype !== "float64") return `this run was computed in ${dtype}, and the page computes in float64`;
      }
      return null;
    }
    submit(event) {
      event.preventDefault();
      if (this.running) return;
      this.say("");
      try {
        this.run(wordOf(this.data.box, this.input.value), this.limit());
      } catch (error) {
        this.refuse(error);
      }
    }
    limit() {
      const { value } = this.steps;
      const { most } = this.data.box;
      const limit = value.trim() === "" ? null : Number(value);
      if (limit === null && this.data.circuit) return null;
      if (limit !== null && Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
      throw new Refused(`the largest number of steps must be a whole number from 1 to ${most.toLocaleString("en")}: change it`);
    }
    run(word, maxSteps) {
      this.weights ??= this.data.runs.map((spec) => weightsOf(spec, this.buffers));
      const runs = this.data.runs.map((spec, n) => ({ spec, decoder: this.weights[n] }));
      const begun = performance.now();
      this.working(true);
      this.say("Running …");
      this.running = ordered({ runs, word, maxSteps, gates: gatesOf(this.data, this.buffers) }, this.script, (done) => this.say(`Running: ${count(done, "position")} …`));
      this.running.finished.then((finished) => this.finish(finished, begun)).catch((error) => {
        this.working(false);
        this.refuse(error);
      });
    }
    finish({ runs, columns }, begun) {
      this.working(false);
      this.show({ ...this.data, runs, searched: null }, (place) => shelved(columns, place) ?? this.buffers(place));
      this.back.hidden = false;
      const positions2 = count(runs.reduce((sum2, run2) => sum2 + run2.count, 0), "position");
      const seconds = ((performance.now() - begun) / 1e3).toFixed(2);
      this.say(`Run in this page: ${positions2} in ${seconds} s; ${runs.map((run2) => (runs.length > 1 ? `${run2.boundary}: ` : "") + compared(run2)).join("; ")}.`);
    }
    halt() {
      this.running?.stop();
      this.working(false);
      this.say("Stopped: the page shows the run before.");
    }
    recorded() {
      this.show(this.data, this.buffers);
      this.back.hidden = true;
      this.input.value = this.data.box.word;
      this.say("This is the recorded run.");
    }
    working(on) {
      if (!on) this.running = null;
      const focused = document.activeElement;
      set(this.start, { disabled: on });
      set(this.stop, { disabled: !on });
      this.bar.hidden = !on;
      set(this.element, { "aria-busy": on ? "true" : null });
      if (focused === this.start && on) this.stop.focus();
      if (focused === this.stop && !on) this.start.focus();
    }
    say(text) {
      this.status.textContent = text;
      this.error.textContent = "";
      set(this.input, { "aria-invalid": null });
    }
    refuse(error) {
      this.status.textContent = "";
      this.error.textContent = error instanceof Refused ? error.message : `This input cannot be run here: ${error instanceof Error ? error.message : String(error)}`;
      set(this.input, { "aria-invalid": "true" });
      this.input.focus();
    }
  };
  function compared({ agrees: agrees2, compared: compared2, reference, noun, divergence }) {
    if (agrees2 === null) return `nothing was compared: there is no ${noun} to compare with`;
    const cells2 = `${count(compared2, "cell")} compared with the ${reference}`;
    return agrees2 ? `${cells2}, all agree` : `${cells2}, and it differs at position ${divergence.position}`;
  }
  function gatesOf({ circuit, runs, box }, buffers) {
    if (!circuit || !box.circuit) return null;
    const found = new Circuit(circuit, buffers);
    const nets = Array.from({ length: found.size - circuit.inputs }, (_, n) => circuit.inputs + n);
    return {
      inputs: circuit.inputs,
      gates: nets.map((net) => ({ table: found.table(net), operands: found.operands(net) })),
      outputs: circuit.outputs.map(([, net]) => net),
      buses: box.circuit.outputs,
      encoding: box.circuit.encoding,
      names: runs[0].live.readout[runs[0].columns.findIndex(({ name }) => name === "gate")]?.names ?? {}
    };
  }

  // src/bits.ts
  var MOST = 120;
  var FEW = 40;
  var MOST_OUTPUTS = 64;
  var BitsPanel = class {
    constructor(bits, store) {
      this.bits = bits;
      this.store = store;
      [this.circuit, this.run] = [bits.circuit, bits.run];
      this.heads = this.run.spec.layers.flatMap((layer, l) => layer.heads.map((_, k) => ({ layer: l, head: k, label: `${l + 1}.${k + 1}` })));
      const { inputs } = this.circuit.spec;
      this.cells.classList.toggle("small-bits", this.circuit.size > FEW);
      this.element = el(
        "section",
        { class: "panel bits-panel", "aria-label": "The bits" },
        el("h2", {}, "The bits ", el("span", { class: "check" }, `${count(inputs, "input")}, then ${count(this.circuit.size - inputs, "gate")}`)),
        this.cells,
        this.more,
        this.story,
        this.outputs,
        this.result
      );
    }
    bits;
    store;
    element;
    circuit;
    run;
    cells = el("ol", { class: "bits" });
    more = el("p", { class: "meaning" });
    story = el("p", { class: "story", "aria-live": "polite" });
    outputs = el("ul", { class: "outputs", tabindex: 0, "aria-label": "Outputs" });
    result = el("p", { class: "result" });
    heads;
    /** It has nothing to measure: its lines break where they have to. */
    measure() {
    }
    draw(position, playing) {
      const { run: run2 } = this;
      set(this.story, { "aria-live": playing ? "off" : "polite" });
      const i = Math.min(position, run2.count - 1);
      this.drawBits(i);
      this.story.replaceChildren(...this.happens(i));
      this.drawOutputs(i);
      this.result.textContent = i === run2.count - 1 ? this.ending() : "";
    }
    drawBits(i) {
      const { circuit } = this;
      const quarter = MOST / 4;
      const first = Math.max(0, Math.min(quarter * (Math.floor((i + 1) / quarter) - 2), circuit.size - MOST));
      const last = Math.min(circuit.size, first + MOST);
      const looks3 = this.heads.map(({ layer, head }) => this.run.look(layer, head, i));
      const focused = this.cells.contains(document.activeElement);
      this.cells.replaceChildren(...Array.from({ length: last - first }, (_, n) => this.cell(first + n, i, looks3)));
      if (focused) this.cells.querySelector("[aria-current]")?.focus({ preventScroll: true });
      this.more.hidden = last - first === circuit.size;
      this.more.textContent = `bits ${first} to ${last - 1} of 0 to ${circuit.size - 1}`;
    }
    cell(net, i, looks3) {
      const { bits, circuit, store } = this;
      const bit = bits.known(net, i);
      const wrong = bit !== null && net <= i + 1 ? bits.wrong(net) : void 0;
      const state = net === i ? "now" : net === circuit.answered(i) ? "answered" : net > i ? "unread" : "";
      const outputs = circuit.outputs(net).map((name) => `, output ${name}`).join("");
      const said = `${net}: ${circuit.said(net)}${outputs}${bit === null ? "" : `; bit ${bit}`}${wrong === void 0 ? "" : `, should be ${wrong}`}`;
      const seen = this.heads.flatMap(({ label: label2 }, n) => {
        const look = looks3[n];
        return !look.uniform && look.sharers.includes(net) ? [el("span", { class: `seen hue${n % 7}`, "data-head": label2, title: `head ${label2} looks here` }, label2)] : [];
      });
      const button = el(
        "button",
        {
          type: "button",
          class: ["bit mono", circuit.isInput(net) ? "input" : "gate", outputs ? "output" : "", state, wrong === void 0 ? "" : "bad"].filter(Boolean).join(" "),
          "data-net": net,
          "aria-current": net === i ? "step" : null,
          "aria-label": said,
          title: said,
          click: () => store.set({ i: circuit.isInput(net) ? net : net - 1, playing: false })
        },
        bit ?? "·"
      );
      return el("li", {}, button, ...seen);
    }
    /** What happens at a position, in a sentence or two. */
    happens(i) {
      const { bits, circuit, run: run2 } = this;
      const token2 = (text) => el("b", { class: "mono" }, text);
      const answer = run2.rows.answer(i);
      const gate = circuit.answered(i);
      const given = [circuit.isInput(i) ? "The input " : "The gate ", token2(circuit.name(i)), circuit.isInput(i) ? " is " : " gave ", token2(run2.rows.fed(i)), ". "];
      if (gate === null) return [...given, "What the decoder answers before the last input is not used."];
      const operands = circuit.operands(gate);
      const values = operands.map((operand) => bits.at(operand, i) ?? "?").join(", ");
      const due = bits.computed(gate, i);
      const what = ["The next bit is that of the gate ", token2(circuit.name(gate)), ": ", token2(circuit.formula(gate)), ...operands.length ? [" = ", token2(`${circuit.kind(gate)}(${values})`)] : []];
      if (due === answer) return [...given, ...what, ", and the decoder answers with ", token2(answer), run2.ends(i) ? ", which ends the run." : "."];
      return [...given, ...what, ...due === null ? [] : [" = ", token2(due)], ", but the decoder answers with ", token2(answer), run2.ends(i) ? ", which ends the run." : "."];
    }
    drawOutputs(i) {
      const { circuit, bits } = this;
      const { outputs } = circuit.spec;
      const shown = outputs.slice(0, MOST_OUTPUTS).map(([name, net]) => {
        const bit = bits.at(net, i);
        const wrong = bit === null ? void 0 : bits.wrong(net);
        const says = wrong === void 0 ? null : ` ✗ should be ${wrong}`;
        return el("li", { class: bit === null ? "unknown" : wrong === void 0 ? "" : "bad", "data-output": name }, `${name} = `, el("b", { class: "mono" }, bit ?? "·"), says);
      });
      const rest = outputs.length - shown.length;
      this.outputs.replaceChildren(...shown, ...rest > 0 ? [el("li", { class: "unknown" }, `and ${rest} more`)] : []);
    }
    /** What came out, at the end. */
    ending() {
      const { T, agrees: agrees2, result, reference, divergence } = this.run.spec;
      if (divergence?.column === STOP) return "Every bit is right, but this run does not end with the last gate.";
      if (divergence) return `This run has ended; it differs from the ${reference} from position ${divergence.position} on.`;
      if (T === null) return `This run is cut off here, ${count(this.circuit.size - 1 - this.run.count, "gate")} before its end.`;
      if (agrees2 === null || !result) return "This run has ended.";
      return `The result: ${result}, as the ${reference} says.`;
    }
  };

  // src/description.ts
  var ARROW = "→";
  var Description = class _Description {
    constructor(run2, at) {
      this.run = run2;
      this.at = at;
      const { rows, spec } = run2;
      for (let i = 1; i < spec.lead; i++) {
        if (!this.answers(i)) continue;
        const rule = { key: i - 1, value: i, wanted: rows.fed(i - 1), answer: rows.fed(i).slice(ARROW.length) };
        this.rules.push(rule);
        this.byValue.set(rule.value, rule);
        this.byKey.set(rule.wanted, rule);
      }
      this.tape = this.rules[0]?.key === 0 ? null : rows.fed(0);
      this.label = `${at.layer + 1}.${at.head + 1}`;
      this.number = spec.layers.slice(0, at.layer).reduce((sum2, layer) => sum2 + layer.heads.length, at.head);
    }
    run;
    at;
    rules = [];
    /** The name of the tape at position 0, if the prompt begins with one. */
    tape;
    /** The head that finds rules, as `6.1`, and its number among all heads. */
    label;
    number;
    byValue = /* @__PURE__ */ new Map();
    byKey = /* @__PURE__ */ new Map();
    /** The description in the prompt of this run; null if there is none, or no head that finds rules. */
    static of(run2) {
      const { lead, finds } = run2.spec;
      return lead > 0 && finds ? new _Description(run2, { layer: finds[0], head: finds[1] }) : null;
    }
    /** The rule that a position is part of. */
    ruleAt(i) {
      return this.byValue.get(i) ?? this.byValue.get(i + 1) ?? null;
    }
    /** What is looked up at position i; null in the prompt, where the machine has no state yet. */
    lookup(i) {
      const { rows } = this.run;
      const [q, a] = [rows.text("q", i), rows.text("a", i)];
      if (!this.run.generated(i) || q === null || a === null) return null;
      const wanted = `${q},${a}`;
      const look = this.run.look(this.at.layer, this.at.head, i);
      const seen = look.count === 1 ? this.byValue.get(look.winner) ?? null : null;
      return { wanted, look, found: seen?.wanted === wanted ? seen : null, due: this.byKey.get(wanted) ?? null };
    }
    answers(i) {
      const token2 = this.run.rows.fed(i);
      return token2.length > 1 && token2.startsWith(ARROW);
    }
  };

  // src/graph.ts
  var READABLE = 0.62;
  var SMALLEST = 0.37;
  var LARGEST = 1.7;
  var STEP = 1.3;
  var MOST2 = 4;
  var Graph = class {
    constructor(name, drawn, buffers, redraw) {
      this.name = name;
      this.redraw = redraw;
      const button = (text, name2, act) => el("button", { type: "button", class: "small", "aria-label": name2, title: name2, click: act }, text);
      this.smaller = button("−", "Zoom out", () => this.zoomTo(this.scale / STEP));
      this.whole = button("whole", `Show the whole ${name}`, () => this.zoomTo("whole"));
      this.large = button("enlarge", `Enlarge the ${name} to the whole window`, () => this.enlarge());
      set(this.large, { "data-enlarges": "", "aria-pressed": "false" });
      const zooming = el(
        "span",
        { class: "zooming" },
        this.smaller,
        button("+", "Zoom in", () => this.zoomTo(this.scale * STEP)),
        this.whole,
        this.large
      );
      this.element = el("section", { class: "panel graph-panel", "aria-label": `The ${name}` }, el("h2", {}, `${name[0].toUpperCase()}${name.slice(1)}`, zooming), this.scroll, this.caption);
      this.draggable();
      const { svg: drawing, dot, none } = drawn;
      if (drawing) this.show(textAt(buffers, drawing));
      else if (dot && window.tm2tfrDraws)
        window.tm2tfrDraws(dot).then((text) => {
          this.show(text);
          this.redraw();
        }).catch((error) => this.scroll.textContent = `The graph cannot be drawn here: ${String(error)}`);
      else this.scroll.textContent = none ?? "";
    }
    name;
    redraw;
    element;
    scroll = el("div", { class: "scroll graph", tabindex: 0, role: "img" });
    caption = el("p", { class: "rule mono" });
    /** By what the drawing calls them: `s0`, `s0->s1`; several edges may join the same nodes. */
    nodes = /* @__PURE__ */ new Map();
    edges = /* @__PURE__ */ new Map();
    size = [1, 1];
    /** The chosen scale, "whole", or "auto": the whole graph if it is readable then. */
    zoom = "auto";
    scale = 1;
    partly = false;
    followed = null;
    smaller;
    whole;
    large;
    show(text) {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
      const drawing = document.importNode(parsed, true);
      const [, , width, height] = (drawing.getAttribute("viewBox") ?? "0 0 100 100").split(/\s+/).map(Number);
      set(drawing, { width: null, height: null, "aria-hidden": "true" });
      this.size = [width, height];
      for (const group of drawing.querySelectorAll("g.node, g.edge")) {
        const title = group.querySelector("title")?.textContent ?? "";
        if (group.classList.contains("node")) this.nodes.set(title, group);
        else this.edges.set(title, [...this.edges.get(title) ?? [], group]);
        group.querySelectorAll("title").forEach((node) => node.remove());
      }
      drawing.querySelector("title")?.remove();
      this.scroll.replaceChildren(drawing);
      if (this.element.isConnected) this.fit();
    }
    /** Give the drawing its size: the whole graph if it is readable then, otherwise as much as is, or the chosen scale. */
    fit() {
      const drawing = this.scroll.querySelector("svg");
      if (!drawing) return;
      const { clientWidth, clientHeight } = this.scroll;
      const height = parseFloat(getComputedStyle(this.scroll).maxHeight) || clientHeight;
      const whole2 = Math.min(clientWidth / this.size[0], (height - 14) / this.size[1], LARGEST);
      const readable = whole2 < SMALLEST && !this.element.classList.contains("large") ? READABLE : whole2;
      this.scale = this.zoom === "whole" ? whole2 : this.zoom === "auto" ? readable : Math.max(whole2, Math.min(this.zoom, MOST2));
      this.partly = this.scale > whole2;
      this.followed = null;
      this.scroll.classList.toggle("partly", this.partly);
      set(this.smaller, { disabled: !this.partly });
      set(this.whole, { "aria-pressed": String(!this.partly) });
      drawing.style.width = `${Math.floor(this.size[0] * this.scale)}px`;
      drawing.style.height = `${Math.floor(this.size[1] * this.scale)}px`;
    }
    /** Take the marks off all nodes and edges. */
    unmark(...marks) {
      for (const mark of marks) for (const marked of this.scroll.querySelectorAll(`.${mark}`)) marked.classList.remove(mark);
    }
    zoomTo(zoom) {
      this.zoom = zoom;
      this.fit();
      this.redraw();
    }
    /** Move a partly shown graph by dragging it; touch screens do so by themselves. */
    draggable() {
      const { scroll } = this;
      scroll.addEventListener("mousedown", (event) => event.preventDefault());
      scroll.addEventListener("pointerdown", (event) => {
        if (event.pointerType !== "mouse" || !this.partly) return;
        scroll.setPointerCapture(event.pointerId);
      });
      scroll.addEventListener("pointermove", (event) => {
        if (scroll.hasPointerCapture(event.pointerId)) scroll.scrollBy(-event.movementX, -event.movementY);
      });
    }
    /** Keep the current node in view. */
    follow() {
      const node = this.partly ? this.scroll.querySelector(".node.now") : null;
      if (!node || node === this.followed) return;
      this.followed = node;
      const box = node.getBoundingClientRect();
      const view2 = this.scroll.getBoundingClientRect();
      const centre = [box.left + box.width / 2 - view2.left, box.top + box.height / 2 - view2.top];
      const outside = centre[0] < 60 || centre[0] > view2.width - 60 || centre[1] < 40 || centre[1] > view2.height - 40;
      if (outside) this.scroll.scrollBy(centre[0] - view2.width / 2, centre[1] - view2.height / 2);
    }
    enlarge() {
      const large = this.element.classList.toggle("large");
      set(this.large, { "aria-pressed": String(large) });
      this.large.textContent = large ? "back" : "enlarge";
      this.zoomTo("auto");
    }
  };

  // src/gates.ts
  var RADIUS = 6.5;
  var DEPTH = 2;
  var CircuitGraph = class extends Graph {
    constructor(bits, buffers, redraw) {
      const { graph } = bits.circuit.spec;
      super("circuit", graph, buffers, redraw);
      this.bits = bits;
      this.circuit = bits.circuit;
      this.drawn = graph.none === void 0;
      if (!this.drawn) {
        this.element.querySelector(".zooming")?.remove();
        this.scroll.classList.add("undrawn");
        set(this.scroll, { role: null });
        this.scroll.replaceChildren(el("p", {}, `${graph.none}:`), this.list);
      }
    }
    bits;
    circuit;
    /** The mark of each node, with its bit: after all nodes and edges, so that none hides it. */
    marks = /* @__PURE__ */ new Map();
    list = el("ul", { class: "cone mono" });
    drawn;
    draw(position) {
      const { bits, circuit } = this;
      const i = Math.min(position, bits.run.count - 1);
      const gate = circuit.answered(i);
      const said = gate === null ? `the input ${circuit.name(i)} is given` : this.line(gate, i);
      if (this.drawn) this.mark(i, gate);
      else this.list.replaceChildren(...gate === null ? [] : [this.cone(gate, i, DEPTH)]);
      this.caption.textContent = this.drawn || gate === null ? said : "";
      set(this.scroll, { "aria-label": `Circuit of ${circuit.size - circuit.spec.inputs} gates. Current: ${said}` });
    }
    mark(i, gate) {
      const { bits, circuit } = this;
      this.unmark("now", "operand", "zero", "one", "bad");
      for (const [name, node] of this.nodes) {
        const net = this.net(name);
        const bit = bits.at(net, i);
        const corner = this.corner(name, node);
        corner.lastChild.textContent = bit ?? "";
        if (bit === null) continue;
        for (const part of [node, corner]) part.classList.add(bit === "1" ? "one" : "zero");
        if (bits.wrong(net) !== void 0) node.classList.add("bad");
      }
      for (const [name, edges] of this.edges) {
        const bit = bits.at(this.net(name.split("->")[0]), i);
        if (bit !== null) for (const edge of edges) edge.classList.add(bit === "1" ? "one" : "zero");
      }
      if (gate === null) {
        this.nodes.get(`n${i}`)?.classList.add("now");
        return;
      }
      this.nodes.get(`n${gate}`)?.classList.add("now");
      for (const operand of circuit.operands(gate)) {
        this.nodes.get(`n${operand}`)?.classList.add("operand");
        for (const edge of this.edges.get(`n${operand}->n${gate}`) ?? []) edge.classList.add("now");
      }
    }
    /** The net of a node, which is one itself or an output: `n3`, `y0`. */
    net(name) {
      const number2 = Number(name.slice(1));
      return name.startsWith("y") ? this.circuit.spec.outputs[number2][1] : number2;
    }
    /** The place for a bit, at the corner of a node. */
    corner(name, node) {
      const there = this.marks.get(name);
      if (there) return there;
      const shape = node.querySelector("polygon, path");
      const points = `${shape?.getAttribute("points") ?? ""}${shape?.getAttribute("d") ?? ""}`.match(/-?[\d.]+,-?[\d.]+/g) ?? [];
      const [xs, ys] = [0, 1].map((axis) => points.map((point) => Number(point.split(",")[axis])));
      const [x, y] = [Math.max(...xs), Math.min(...ys)];
      const text = svg("text", { x, y: y + 3.5, "text-anchor": "middle", "font-size": 10 });
      const mark = svg("g", { class: "mark", "data-node": name }, svg("circle", { cx: x, cy: y, r: RADIUS }), text);
      node.parentNode.append(mark);
      this.marks.set(name, mark);
      return mark;
    }
    /** A net in a line, with its bits: `sum = XOR(a, b) = XOR(1, 0) = 1`. */
    line(net, i) {
      const { bits, circuit } = this;
      const bit = bits.at(net, i) ?? "?";
      if (circuit.isInput(net)) return `${circuit.name(net)} = ${bit}, an input`;
      const found = circuit.operands(net).map((operand) => bits.at(operand, i) ?? "?");
      const values = found.length ? ` = ${circuit.kind(net)}(${found.join(", ")})` : "";
      const due = bits.computed(net, i);
      const said = due === null || due === bit ? bit : `${due}, but the bit is ${bit}`;
      return `${circuit.said(net)}${values} = ${said}`;
    }
    /** A net, and below it those it is computed from. */
    cone(net, i, depth) {
      const below = depth ? [...new Set(this.circuit.operands(net))].map((operand) => this.cone(operand, i, depth - 1)) : [];
      return el("li", { "data-net": net }, this.line(net, i), below.length ? el("ul", {}, ...below) : null);
    }
  };

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
      for (const { symbol } of this.writes.values()) for (const text of symbol) longest = Math.max(longest, text.length);
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
        const cells2 = Array.from({ length: size }, (_, k) => this.symbol(from + k, i) ?? blank);
        return { cells: cells2, head: Number.isInteger(h) ? h - from : null, cut: from > lowest || lowest < 0 };
      };
    }
    write(cell, at, symbol) {
      const writes = this.writes.get(cell) ?? { at: [], symbol: [] };
      writes.at.push(at);
      writes.symbol.push(symbol);
      this.writes.set(cell, writes);
    }
  };

  // src/strip.ts
  var MOST3 = 60;
  var LANE = 26;
  var LOWEST = 42;
  var DASHES = ["", "9 4", "2.5 4", "13 4 2.5 4", "6 3 2 3 2 3", "1.5 2.5", "18 4"];
  var WIDE2 = { gap: 9, omitted: 50, around: 18, least: 40, arrow: 34, lettering: 1 };
  var CLOSE = { gap: 6, omitted: 50, around: 14, least: 30, arrow: 30, lettering: 1 };
  var MEDIUM = { gap: 5, omitted: 44, around: 9, least: 26, arrow: 26, lettering: 0.9 };
  var LIMITS = [26, 20, 16, 14, 12, 10, 8, 6];
  var EDGE = 6;
  var NARROW = { gap: 4, omitted: 38, around: 7, least: 24, arrow: 17, lettering: 0.8 };
  var Strip = class {
    constructor(run2, store, circuit, description = null) {
      this.run = run2;
      this.store = store;
      this.circuit = circuit;
      this.description = description;
      this.field.append(this.arcs, this.chips);
      this.heads = run2.spec.layers.flatMap(
        (layer, l) => layer.heads.map((head, k) => ({ layer: l, head: k, label: `${l + 1}.${k + 1}`, name: head.name }))
      );
      const key = el(
        "ul",
        { class: "key", "aria-label": "Heads" },
        ...this.heads.map(
          ({ label: label2, name, layer }, n) => el("li", {}, el("button", { type: "button", class: `hue${n % 7}`, click: () => store.set({ layer }) }, sample(n), el("b", {}, label2), el("span", {}, ...math(name))))
        )
      );
      this.element = el(
        "section",
        { class: "panel strip-panel", "aria-label": "What the decoder knows" },
        el("h2", {}, `What the decoder knows: its ${circuit ? "bits" : "tokens"}`),
        el("div", { class: "scroll", tabindex: 0, "aria-label": "Tokens and where the heads look" }, this.field),
        key
      );
    }
    run;
    store;
    circuit;
    description;
    element;
    field = el("div", { class: "field" });
    chips = el("ol", { class: "chips" });
    arcs = svg("svg", { class: "arcs", role: "img" });
    heads;
    scale = 8;
    room = 600;
    sizes = WIDE2;
    limit = Infinity;
    /** Measure the width of a character and of the panel. */
    measure() {
      this.scale = characterWidth(this.element);
      this.room = this.field.parentElement.clientWidth - 6;
    }
    draw(position, layer) {
      const { run: run2 } = this;
      const i = Math.min(position, run2.count - 1);
      const looks3 = this.heads.map(({ layer: l, head }) => run2.look(l, head, i));
      const chips = this.layOut(i, looks3);
      const focused = this.chips.contains(document.activeElement);
      const items = [];
      let before = -1;
      for (const chip of chips) {
        if (chip.i > before + 1 && chip.i <= i) items.push(this.omitted(before, chip));
        items.push(this.chip(chip, i));
        before = chip.i;
      }
      this.chips.replaceChildren(...items);
      if (focused) this.chips.querySelector("[aria-current]")?.focus({ preventScroll: true });
      const width = end(chips) + 4;
      this.field.style.width = `${width}px`;
      this.drawArcs(i, looks3, chips, width, layer);
      if (width > this.room + 6) this.field.parentElement.scrollLeft = width;
    }
    shown(i, now) {
      return shortened(this.token(i, now), this.limit);
    }
    token(i, now) {
      return i > now ? this.run.rows.answer(now) : this.run.rows.fed(i);
    }
    /** Where the chips are: all positions if there is room, otherwise the current one, those attended to, and the latest. */
    layOut(i, looks3) {
      const { room } = this;
      this.limit = Infinity;
      const chosen = /* @__PURE__ */ new Set([i, i + 1]);
      for (const look of looks3) if (!look.uniform) look.sharers.slice(0, 4).forEach((j) => chosen.add(j));
      const rule = this.description?.lookup(i)?.found;
      if (rule) chosen.add(rule.key);
      for (const sizes of i < MOST3 ? [WIDE2, CLOSE, MEDIUM] : []) {
        this.sizes = sizes;
        const all = this.placed(Array.from({ length: i + 2 }, (_, n) => n), i);
        if (end(all) <= room) return this.written(all);
      }
      this.sizes = WIDE2;
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
      for (const n of [0, ...Array.from({ length: Math.min(i, MOST3) }, (_, k) => i - 1 - k)]) {
        if (chosen.has(n) || n < (i < lead ? 0 : lead)) continue;
        const more = this.placed([...chosen, n], i);
        if (end(more) > room) break;
        chosen.add(n);
        chips = more;
      }
      return this.written(chips);
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
    placed(positions2, i) {
      const { gap, around, least, arrow, lettering } = this.sizes;
      const text = (n) => this.shown(n, i).length * this.scale * lettering;
      const width = (n) => Math.max(least, text(n) + around) + (n > i ? arrow : 0);
      const chips = [];
      let [left, before] = [2, -1];
      for (const n of positions2.sort((a, b) => a - b)) {
        if (n > before + 1 && n <= i) left += this.widthOmitted(n - before - 1);
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
      const number2 = missing.toLocaleString("en");
      const item = el("li", { class: "omitted", title: said });
      item.append(
        el("span", { class: "more", "aria-hidden": "true" }, number2, el("br"), "more"),
        el("span", { class: "said" }, said)
      );
      const width = this.widthOmitted(missing);
      item.style.left = `${next.left - width}px`;
      item.style.width = `${width - this.sizes.gap}px`;
      return item;
    }
    chip({ i, left, width }, now) {
      const { run: run2, store } = this;
      const kind = i > now ? "next" : i === now ? "now" : i < run2.spec.prompt ? "prompt" : run2.generated(i) ? "made" : "bos";
      const net = this.circuit && (i <= now || this.circuit.answered(now) !== null) ? this.circuit.said(i) : null;
      const text = this.token(i, now);
      const rule = this.description?.lookup(now)?.found;
      const looked = rule && (i === rule.key || i === rule.value) ? ` rule-found hue${this.description.number % 7}` : "";
      const button = el(
        "button",
        {
          type: "button",
          class: `chip ${kind} mono${looked}`,
          "aria-current": i === now ? "step" : null,
          "aria-label": (i > now ? `the answer: ${text}` : `position ${i}: ${text}`) + (net === null ? "" : `, ${net}`),
          "data-position": i,
          title: net ?? (this.shown(i, now) === text ? null : text),
          click: () => store.set({ i, playing: false })
        },
        this.shown(i, now)
      );
      const item = el("li", {}, button, el("span", { class: "index" }, i > now ? "answer" : String(i)));
      if (i > now) item.prepend(el("span", { class: "arrow", "aria-hidden": "true" }, "→"));
      item.style.left = `${left}px`;
      item.style.width = `${width}px`;
      return item;
    }
    drawArcs(i, looks3, chips, width, layer) {
      const middle = this.middles(looks3, chips, i);
      const here = middle.get(i);
      const first = chips[0].i ? chips[0].left / 2 : middle.get(0);
      const order = looks3.map((_, n) => n).sort((a, b) => this.span(looks3[a], i) - this.span(looks3[b], i) || a - b);
      const height = LANE * (looks3.length + 0.5) + LOWEST;
      set(this.arcs, { width, height, viewBox: `0 0 ${width} ${height}` });
      const drawn = looks3.map((look, n) => {
        const lift = LANE * order.indexOf(n) + LOWEST;
        const { label: label2, name, layer: l } = this.heads[n];
        const top = height - lift;
        const from = here + (n - (looks3.length - 1) / 2) * 5;
        const gap = look.runner < 0 ? "" : String(look.score - look.runnerScore);
        const group = svg("g", {
          class: `arc hue${n % 7}${l === layer ? " chosen" : ""}`,
          "data-head": label2,
          "data-from": i,
          "data-to": look.uniform ? `0..${i}` : look.sharers.join(" "),
          "data-score": look.uniform ? "" : String(look.score),
          "data-runner": look.runner < 0 ? "" : look.runner,
          "data-runner-score": look.runner < 0 ? "" : String(look.runnerScore),
          "data-gap": gap
        });
        const ends = look.uniform ? [] : look.sharers.filter((j) => middle.has(j));
        const targets = ends.filter((j, k) => ends.findIndex((other) => middle.get(other) === middle.get(j)) === k);
        const dash = { "stroke-dasharray": DASHES[n % 7] || null };
        const labels = [(from + (look.uniform ? first : middle.get(targets[0]) + (n - 3) * 3)) / 2, top];
        if (look.uniform) {
          group.append(svg("path", { d: `M${first} ${height}V${top + 8}Q${first} ${top} ${first + 8} ${top}H${from - 8}Q${from} ${top} ${from} ${top + 8}V${height}`, ...dash }));
          for (const chip of chips)
            if (chip.i > 0 && chip.i < i) group.append(svg("path", { d: `M${middle.get(chip.i)} ${top}v7` }));
        }
        for (const j of targets) {
          const to = Math.max(EDGE, middle.get(j) + (n - (looks3.length - 1) / 2) * 5);
          const peak = height - lift / 0.75;
          if (j === i) {
            labels[0] = from;
            group.append(svg("path", { d: `M${from - 7} ${height}C${from - 20} ${peak} ${from + 20} ${peak} ${from + 7} ${height - 5}`, ...dash }), tip(from + 7, height));
          } else {
            group.append(svg("path", { d: `M${from} ${height}C${from} ${peak} ${to} ${peak} ${to} ${height - 5}`, ...dash }), tip(to, height));
          }
        }
        group.append(svg("rect", { x: labels[0] - 17, y: labels[1] - 11, width: 34, height: 22, rx: 11 }), svg("text", { x: labels[0], y: labels[1] + 5 }, label2));
        group.prepend(svg("title", {}, `head ${label2}, ${name}: ${described3(look, i)}`));
        return group;
      });
      this.arcs.replaceChildren(...[...drawn].sort((a, b) => Number(a.classList.contains("chosen")) - Number(b.classList.contains("chosen"))));
      set(this.arcs, { "aria-label": looks3.map((look, n) => `head ${this.heads[n].label}: ${described3(look, i)}`).join("; ") });
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
      return look.uniform ? i + 0.5 : i - look.winner;
    }
  };
  function end(chips) {
    const last = chips.at(-1);
    return last.left + last.width;
  }
  function described3(look, i) {
    if (look.uniform) return `all scores are equal: the mean of all ${i + 1} positions`;
    const where = look.count > 1 ? `shared by ${look.count} positions: ${look.sharers.join(", ")}` : `position ${look.winner}`;
    if (look.runner < 0) return `${where}, the only one there is`;
    const [score, runner] = apart(look.score, look.runnerScore);
    return `${where}, score ${score}, runner-up ${look.runner} with ${runner}, gap ${digits(look.score - look.runnerScore)}`;
  }
  function sample(n) {
    const line = svg("path", { d: "M1 6H33", "stroke-dasharray": DASHES[n % 7] || null });
    return svg("svg", { class: "sample", viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" }, line);
  }
  function tip(x, y) {
    return svg("path", { class: "tip", d: `M${x - 5} ${y - 9}L${x} ${y}L${x + 5} ${y - 9}Z` });
  }

  // src/layers.ts
  var Layers = class {
    constructor(run2, store) {
      this.run = run2;
      this.store = store;
      this.cards = [this.embedding(), ...run2.spec.layers.map((_, l) => this.card(l))];
      this.element = el(
        "section",
        { class: "panel layers-panel", "aria-label": "The layers" },
        el("h2", {}, "How the next token is computed"),
        el("ol", { class: "layers" }, ...this.cards.map(({ card }) => card))
      );
    }
    run;
    store;
    element;
    cards;
    draw(position, layer) {
      const i = Math.min(position, this.run.count - 1);
      this.cards.forEach(({ card, button, heads, wrote }, n) => {
        const l = n - 1;
        card.classList.toggle("chosen", l === layer);
        set(button, { "aria-pressed": l === layer ? "true" : "false" });
        heads.replaceChildren(...this.heads(l, i));
        wrote.replaceChildren(...this.wrote(l, i));
      });
    }
    /** What the stream contains before the first layer. */
    embedding() {
      const wrote = el("p", { class: "wrote" });
      const button = el(
        "button",
        { type: "button", class: "layer-name", "aria-pressed": "false", click: () => this.store.set({ layer: -1 }) },
        el("span", { class: "number" }, "0"),
        "embedding"
      );
      const meaning = el("span", { class: "meaning" }, "the token at this position, and the position itself");
      const card = el("li", { class: "layer", "data-layer": 0 }, el("div", { class: "top" }, button, meaning), wrote);
      return { card, button, heads: el("ul"), wrote };
    }
    card(l) {
      const layer = this.run.spec.layers[l];
      const heads = el("ul", { class: "looks" });
      const wrote = el("p", { class: "wrote" });
      const button = el(
        "button",
        { type: "button", class: "layer-name", "aria-pressed": "false", click: () => this.store.set({ layer: l }) },
        el("span", { class: "number" }, String(l + 1)),
        layer.name
      );
      const weights = el(
        "div",
        { class: "weights", hidden: true },
        ...layer.heads.map(
          (head, k) => el("p", { class: "score" }, el("b", {}, `${l + 1}.${k + 1} `), "score of j seen from i: ", ...math(head.score))
        ),
        el("pre", { tabindex: 0 }, this.run.weights[l])
      );
      const more = el("button", {
        type: "button",
        class: "small",
        "aria-expanded": "false",
        "aria-label": `the weights of layer ${l + 1}`,
        click: () => {
          weights.hidden = !weights.hidden;
          set(more, { "aria-expanded": String(!weights.hidden) });
        }
      }, "weights");
      const card = el(
        "li",
        { class: "layer", "data-layer": l + 1 },
        el("div", { class: "top" }, button, el("span", { class: "equation" }, ...math(layer.equation)), el("span", { class: "source" }, layer.source)),
        el("p", { class: "meaning" }, layer.meaning),
        heads,
        el("div", { class: "bottom" }, wrote, more),
        weights
      );
      return { card, button, heads, wrote };
    }
    heads(l, i) {
      const before = this.run.spec.layers.slice(0, Math.max(0, l)).reduce((sum2, layer) => sum2 + layer.heads.length, 0);
      return (this.run.spec.layers[l]?.heads ?? []).map((head, k) => {
        const look = this.run.look(l, k, i);
        const fact = (name, value, full) => el("span", { class: "fact", title: String(full) }, `${name} `, el("b", {}, value));
        const where = look.uniform ? `all scores are ${digits(look.score)}: the mean of all ${count(i + 1, "position")}` : look.count > 1 ? `${i} → ${look.sharers.join(", ")}: ${count(look.count, "position")} share the weight` : `${i} → ${look.winner}`;
        const token2 = look.uniform || look.count > 1 ? null : el("span", { class: "mono token" }, this.run.rows.fed(look.winner));
        const [score, runner] = apart(look.score, look.runnerScore);
        const facts = look.uniform || i === 0 ? [] : [
          fact("score", score, look.score),
          ...look.runner < 0 ? [] : [
            fact(`runner-up ${look.runner}:`, runner, look.runnerScore),
            fact("gap", digits(look.score - look.runnerScore), look.score - look.runnerScore)
          ]
        ];
        const n = before + k;
        return el(
          "li",
          { class: `look hue${n % 7}`, "data-head": `${l + 1}.${k + 1}` },
          sample(n),
          el("b", { class: "tag" }, `${l + 1}.${k + 1}`),
          el("span", { class: "head-name" }, ...math(head.name)),
          el("span", { class: "where" }, where),
          token2,
          ...facts
        );
      });
    }
    wrote(l, i) {
      const { run: run2 } = this;
      const changed = run2.spec.subspaces.flatMap(
        (subspace, n) => run2.changed(n, l, i) ? [el("span", { class: "value" }, ...math(symbolOf(subspace.name)), " = ", el("b", { class: "mono" }, words(subspace, run2.value(n, 2 * l + 2, i), i)))] : []
      );
      return changed.length ? ["writes ", ...changed] : ["writes nothing here"];
    }
  };
  var Stream = class {
    constructor(run2, store) {
      this.run = run2;
      const names = ["the embedding", ...run2.spec.layers.map((layer, l) => `layer ${l + 1}: ${layer.name}`)];
      this.choice = el(
        "select",
        { "aria-label": "After which layer", change: () => store.set({ layer: Number(this.choice.value) }) },
        ...names.map((name, n) => el("option", { value: n - 1 }, name))
      );
      this.raw = el(
        "button",
        { type: "button", class: "small", "aria-pressed": "false", click: () => store.set({ raw: !store.now.raw }) },
        "raw numbers"
      );
      this.element = el(
        "section",
        { class: "panel stream-panel", "aria-label": "The residual stream" },
        el("h2", {}, "Residual stream ", this.title),
        el("div", { class: "tools" }, el("label", {}, "after ", this.choice), this.raw, el("span", { class: "legend" }, "◆ changed by this layer")),
        this.list
      );
    }
    run;
    element;
    title = el("span", {});
    list = el("ul", { class: "stream" });
    choice;
    raw;
    draw(position, layer, raw) {
      const { run: run2 } = this;
      const i = Math.min(position, run2.count - 1);
      this.choice.value = String(layer);
      this.title.textContent = `at position ${i}`;
      set(this.raw, { "aria-pressed": String(raw) });
      this.list.replaceChildren(
        ...run2.spec.subspaces.flatMap((subspace, n) => {
          if (subspace.labels?.length === 0) return [];
          const value = run2.value(n, 2 * layer + 2, i);
          const changed = run2.changed(n, layer, i);
          const empty = value.coordinates.every((v) => v === 0);
          return [
            el(
              "li",
              { class: `${changed ? "changed" : ""} ${empty ? "empty" : ""}`, "data-subspace": subspace.name },
              el("span", { class: "mark" }, changed ? "◆" : ""),
              el("span", { class: "name", title: subspace.name }, ...math(symbolOf(subspace.name))),
              el("span", { class: "mono words" }, words(subspace, value, i)),
              raw ? el("code", {}, `[${value.coordinates.map(String).join(", ")}]`) : null
            )
          ];
        })
      );
    }
  };

  // src/model.ts
  var ModelPanel = class {
    constructor(model, run2, store) {
      this.model = model;
      this.run = run2;
      this.store = store;
      const variables = model.variables.map((each) => [each.name, each.meaning, each.formula, each.source, each.stored ? this.writer(each.since) : "", each.read_by]);
      const heads = model.patterns.map((each) => [each.claim, each.meaning, each.formula, each.source]);
      const first = table("Variables, in the order in which they are computed", ["variable", "what it is", "equation", "source", "written by", "read by"], variables);
      this.rows = [...first.querySelectorAll("tbody tr")];
      this.element = el(
        "details",
        { class: "panel model-panel" },
        el("summary", {}, el("h2", {}, "The model ", el("span", {}, "every variable, its equation, and what reads it"))),
        first,
        heads.length ? table("Where heads look", ["heads attend to", "which is", "equation", "source"], heads) : null
      );
    }
    model;
    run;
    store;
    element;
    rows;
    /** Mark the variables that a layer writes. */
    draw(layer) {
      this.model.variables.forEach(({ stored, since }, n) => this.rows[n].classList.toggle("chosen", stored && since.layer === layer + 1));
    }
    /** The button that chooses the layer which writes a variable. */
    writer({ layer, part }) {
      const name = layer === 0 ? "embedding" : `layer ${layer} (${this.run.spec.layers[layer - 1]?.name ?? ""}), ${part.replace("_", "-")}`;
      return el("button", { type: "button", class: "small", click: () => this.store.set({ layer: layer - 1 }) }, name);
    }
  };
  function table(caption, headings, rows) {
    const filled = headings.map((_, column3) => rows.some((row) => row[column3] !== ""));
    const kept = (cells2) => cells2.filter((_, column3) => filled[column3]);
    const head = el("tr", {}, ...kept(headings).map((heading) => el("th", { scope: "col" }, heading)));
    const body = rows.map((row) => el("tr", {}, ...kept(row).map((cell) => el("td", {}, ...typeof cell === "string" ? math(cell) : [cell]))));
    return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body)));
  }

  // src/rules.ts
  var MOST4 = 40;
  var RulesPanel = class {
    constructor(description, store) {
      this.description = description;
      this.store = store;
      const { run: run2, rules, tape, number: number2 } = description;
      const { lead, prompt } = run2.spec;
      if (tape !== null) this.list.append(el("li", {}, this.token(0)));
      for (const rule of rules) {
        const item = el("li", { class: "prompt-rule", "data-rule": rule.wanted }, this.token(rule.key), this.token(rule.value));
        this.items.set(rule, item);
        this.list.append(item);
      }
      const symbols = Array.from({ length: Math.min(prompt - lead, MOST4) }, (_, n) => this.token(lead + n));
      const more = prompt - lead - symbols.length;
      this.list.append(el("li", { class: "prompt-word" }, ...symbols, more > 0 ? el("span", { class: "meaning" }, `and ${more} more`) : null, this.token(prompt)));
      set(this.said, { class: `lookup hue${number2 % 7}` });
      const told = `${count(rules.length, "rule")} in ${count(lead, "token")}, then the input`;
      this.element = el(
        "section",
        { class: "panel rules-panel", "aria-label": "The machine in the prompt" },
        el("h2", {}, "The machine in the prompt ", el("span", { class: "check" }, told)),
        this.list,
        this.said
      );
    }
    description;
    store;
    element;
    list = el("ol", { class: "prompt-rules", tabindex: 0, "aria-label": "The prompt" });
    said = el("p", { class: "lookup" });
    tokens = /* @__PURE__ */ new Map();
    items = /* @__PURE__ */ new Map();
    draw(position) {
      const { description } = this;
      const i = Math.min(position, description.run.count - 1);
      const lookup = description.lookup(i);
      const seen = new Set(lookup && !lookup.look.uniform ? lookup.look.sharers : []);
      for (const [n, token2] of this.tokens) {
        token2.classList.toggle("now", n === i);
        set(token2, { "aria-current": n === i ? "step" : null });
      }
      for (const [rule, item] of this.items) {
        item.classList.toggle("found", lookup?.found === rule);
        item.classList.toggle("shared", lookup?.found !== rule && seen.has(rule.value));
        item.classList.add(`hue${description.number % 7}`);
      }
      this.show(lookup, i);
      this.said.replaceChildren(...this.says(lookup));
    }
    token(i) {
      const text = this.description.run.rows.fed(i);
      const kind = i >= this.description.run.spec.lead ? "symbol" : "";
      const act = () => this.store.set({ i, playing: false });
      const button = el("button", { type: "button", class: `prompt-token mono ${kind}`, "data-token": i, "aria-label": `position ${i}: ${text}`, title: `position ${i}`, click: act }, text);
      this.tokens.set(i, button);
      return button;
    }
    says(lookup) {
      const { label: label2, number: number2 } = this.description;
      if (!lookup) return ["The machine has no state yet: no rule is looked up."];
      return [sample(number2), el("b", { class: "tag" }, label2), el("span", {}, ...lookedUp(lookup))];
    }
    /** Bring what is marked into view, in the list alone: the page stays where it is. */
    show(lookup, i) {
      const marked = (lookup?.found && this.items.get(lookup.found)) ?? this.tokens.get(i);
      if (!marked) return;
      const [box, view2] = [marked.getBoundingClientRect(), this.list.getBoundingClientRect()];
      if (box.top < view2.top) this.list.scrollTop -= view2.top - box.top + 8;
      else if (box.bottom > view2.bottom) this.list.scrollTop += box.bottom - view2.bottom + 8;
    }
  };

  // src/state.ts
  var Store = class {
    constructor(last, layers, start2, first = 0, home = layers - 1) {
      this.last = last;
      this.layers = layers;
      this.first = first;
      this.home = home;
      this.now = { i: 0, layer: home, raw: false, playing: false, speed: 2, ...start2 };
    }
    last;
    layers;
    first;
    home;
    now;
    views = [];
    drawing = false;
    clock = 0;
    owed = 0;
    ended = false;
    subscribe(view2) {
      this.views.push(view2);
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
      next.layer = Math.max(-1, Math.min(this.layers - 1, next.layer));
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
    toggle() {
      const again = !this.now.playing && this.now.i === this.last;
      this.set({ playing: !this.now.playing, ...again ? { i: this.first } : {} });
    }
    draw() {
      this.drawing = false;
      if (this.ended) return;
      for (const view2 of this.views) view2(this.now);
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
          const i = this.now.i + whole2;
          this.set(i >= this.last ? { i: this.last, playing: false } : { i });
        }
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }
  };

  // src/states.ts
  var StateGraph = class extends Graph {
    constructor(run2, machine, buffers, redraw) {
      super("state graph", machine.graph, buffers, redraw);
      this.run = run2;
      this.machine = machine;
    }
    run;
    machine;
    draw(position) {
      const { rows } = this.run;
      const i = Math.min(position, this.run.count - 1);
      const name = rows.text("q", i);
      const symbol = rows.text("a", i);
      const state = this.machine.states.findIndex((q) => q.name === name);
      const rule = name !== null && symbol !== null ? ruleAt(this.machine, name, symbol) : void 0;
      this.unmark("now");
      this.nodes.get(`s${state}`)?.classList.add("now");
      if (rule) {
        const edge = this.edges.get(`s${rule[0]}->s${rule[2]}`)?.[0];
        edge?.classList.add("now");
        edge?.querySelectorAll("text")[rule[5]]?.classList.add("now");
      }
      if (name === null) this.start()?.classList.add("now");
      const said = name === null ? "not started" : rule ? `δ(${name}, ${symbol}) = (${this.machine.states[rule[2]].name}, ${rule[3]}, ${"LSR"[rule[4] + 1]})` : `${name}: no rule for ${symbol ?? "⊥"}`;
      this.caption.textContent = said;
      set(this.scroll, { "aria-label": `State graph of ${this.machine.states.length} states. Current: ${said}` });
    }
    start() {
      return [...this.edges].find(([name]) => name.startsWith("start->"))?.[1][0];
    }
  };

  // src/table.ts
  var ROW = 36;
  var AROUND = 8;
  var PRINTED = 40;
  var SMALLEST2 = 0.7;
  var COMFORTABLE = 0.92;
  var FEWEST = 3;
  var MOST5 = 21;
  var LIMITS2 = Array.from({ length: 37 }, (_, k) => 48 - k);
  var TAPE = "the tape before this step, as the tokens say it, with the head's cell in brackets";
  var Table = class {
    constructor(run2, store, history2, signal) {
      this.run = run2;
      this.store = store;
      this.history = history2;
      const name = history2 ? "The chapter's table" : "The table";
      const header = el(
        "div",
        { class: "row header", role: "row" },
        el("span", { role: "columnheader", title: "the position" }, "i"),
        history2 && el("span", { role: "columnheader", title: TAPE }, "tape"),
        ...run2.spec.columns.map((column3) => el("span", { role: "columnheader", title: column3.title }, column3.name))
      );
      this.grid = el("div", { class: "grid", role: "table", "aria-rowcount": run2.count + 1, "aria-label": name }, el("div", { role: "rowgroup", class: "sticky" }, header), this.body);
      this.scroll = el("div", { class: "scroll table", tabindex: 0, "aria-label": "Rows" }, this.grid);
      this.element = el("section", { class: "panel table-panel", "aria-label": "The table" }, el("h2", {}, `${name} `, el("span", { class: "check" }, this.summary())), this.scroll);
      this.scroll.addEventListener("scroll", () => this.fill(), { passive: true });
      addEventListener("beforeprint", () => this.print(true), { signal });
      addEventListener("afterprint", () => this.print(false), { signal });
    }
    run;
    store;
    history;
    element;
    body = el("div", { class: "rows", role: "rowgroup" });
    scroll;
    grid;
    shown = /* @__PURE__ */ new Map();
    stretch = () => null;
    window = 0;
    limit = 0;
    /** Whether the tape continues to the left of the cells shown in any row. */
    cuts = false;
    now = -1;
    marked = -1;
    printing = false;
    /** Set the columns' widths, with smaller letters where they are too many; the element has to be in the page. */
    measure() {
      const { run: run2 } = this;
      this.grid.style.fontSize = "";
      const size = parseFloat(getComputedStyle(this.grid).fontSize);
      const scale = characterWidth(this.grid);
      const room = this.scroll.clientWidth / scale;
      const widest = run2.spec.columns.map(({ name }) => Math.max(run2.widest(name), name.length));
      const signsFor = (limit2) => [String(run2.count).length + 2.6, ...widest.map((n) => 2.3 + Math.min(n, limit2))];
      const sum2 = (numbers) => numbers.reduce((all2, n) => all2 + n, 0);
      const limit = LIMITS2.find((n) => sum2(signsFor(n)) + this.tapeWidth(FEWEST) <= room / SMALLEST2) ?? LIMITS2.at(-1);
      const signs = signsFor(limit);
      const rest = sum2(signs);
      const tape = this.tapeWidth(this.choose(limit, room / COMFORTABLE - rest));
      const widths = [signs[0], ...this.history ? [tape] : [], ...signs.slice(1)].map((n) => n * scale);
      const all = (rest + tape) * scale;
      const smaller = Math.max(SMALLEST2, Math.min(1, room / (rest + tape)));
      this.grid.style.fontSize = `${size * smaller}px`;
      this.grid.style.setProperty("--columns", widths.map((width) => `${Math.floor(width * smaller)}px`).join(" "));
      this.grid.style.setProperty("--rest", `${Math.max(0, Math.floor((this.scroll.clientWidth - all * smaller) / (widths.length - 1)))}px`);
      this.body.style.height = `${run2.count * ROW}px`;
      this.now = -1;
    }
    /** The number of characters that this many cells of the tape take, with the head's brackets and the ellipses. */
    tapeWidth(window2) {
      return this.history ? window2 * (1 + this.history.widest()) + 4 : 0;
    }
    /** Show this many characters of a cell, and as many cells of the tape as there is room for. */
    choose(limit, room) {
      const { history: history2 } = this;
      const all = history2 ? history2.highest - history2.lowest + 1 : 0;
      const window2 = history2 ? Math.min(all, MOST5, Math.max(FEWEST, Math.floor((room - 4) / (1 + history2.widest())))) : 0;
      if (window2 === this.window && limit === this.limit) return window2;
      [this.window, this.limit] = [window2, limit];
      if (history2) {
        this.cuts = window2 < all || history2.lowest < 0;
        this.grid.dataset["window"] = String(window2);
        this.stretch = history2.stretches(window2);
      }
      for (const row of this.shown.values()) row.remove();
      this.shown.clear();
      return window2;
    }
    draw(position) {
      const i = Math.min(position, this.run.count - 1);
      if (i !== this.now) {
        const { lead } = this.run.spec;
        if (this.now < 0 && lead > 0 && i >= lead) this.scroll.scrollTop = lead * ROW;
        this.now = i;
        const { scrollTop, clientHeight } = this.scroll;
        const [top, view2] = [i * ROW, clientHeight - ROW];
        if (top < scrollTop + ROW) this.scroll.scrollTop = top - ROW;
        else if (top + 2 * ROW > scrollTop + view2) this.scroll.scrollTop = top + 2 * ROW - view2;
      }
      this.fill();
    }
    fill() {
      const { scrollTop, clientHeight } = this.scroll;
      let first = Math.max(0, Math.floor(scrollTop / ROW) - AROUND);
      let last = Math.min(this.run.count, Math.ceil((scrollTop + clientHeight) / ROW) + AROUND);
      if (this.printing) {
        first = Math.max(0, Math.min(this.now - PRINTED / 2, this.run.count - PRINTED));
        last = Math.min(this.run.count, first + PRINTED);
      }
      for (const [i, row] of this.shown) {
        if (i >= first && i < last) continue;
        row.remove();
        this.shown.delete(i);
      }
      for (let i = last - 1; i >= first; i--) {
        if (this.shown.has(i)) continue;
        const row = this.row(i);
        this.body.insertBefore(row, this.shown.get(i + 1) ?? null);
        this.shown.set(i, row);
      }
      this.point(this.marked, false);
      this.point(this.now, true);
      this.marked = this.now;
    }
    point(i, now) {
      const row = this.shown.get(i);
      if (!row) return;
      row.classList.toggle("now", now);
      set(row, { "aria-current": now ? "true" : null });
    }
    row(i) {
      const { run: run2, store } = this;
      const { reference } = run2.spec;
      const first = run2.spec.divergence?.position === i;
      const row = el(
        "div",
        {
          class: `row${first ? " first-wrong" : ""}`,
          role: "row",
          "aria-rowindex": i + 2,
          "data-row": i,
          click: () => store.set({ i, playing: false })
        },
        el("span", { role: "rowheader", class: "i" }, el("span", { class: "pointer", "aria-hidden": "true" }, "▶"), String(i)),
        this.history && el("span", { role: "cell", class: "mono tape-cells", "data-column": "tape" }, ...this.tape(i)),
        ...run2.spec.columns.map(({ name }) => {
          const whole2 = run2.rows.cell(name, i);
          const text = shortened(whole2, this.limit);
          const due = run2.wrong(name, i);
          const compared2 = run2.compared(name, i);
          const mark = due !== void 0 ? "wrong" : compared2 ? "right" : "unchecked";
          return el(
            "span",
            { role: "cell", class: `mono ${mark}`, "data-column": name, "data-mark": mark, title: text === whole2 ? null : whole2 },
            text,
            el("span", { class: "tick", title: due !== void 0 ? `the ${reference} says ${due}` : compared2 ? `as the ${reference} says` : null }, due !== void 0 ? "✗" : compared2 ? "✓" : ""),
            due === void 0 ? null : el("span", { class: "due" }, `≠ ${shortened(due, this.limit)}`)
          );
        })
      );
      row.style.top = `${i * ROW}px`;
      return row;
    }
    /** The tape as `tm2tfr trace` writes it: ` _[1]_ …`. */
    tape(i) {
      const stretch = this.stretch(i);
      if (!stretch) return [];
      const { cells: cells2, head, cut } = stretch;
      const around = (k) => k === head ? "[" : k - 1 === head ? "]" : " ";
      const text = (from, to) => cells2.slice(from, to).map((cell, k) => around(from + k) + cell).join("");
      const end2 = `${around(cells2.length)}…`;
      const begin = cut ? "…" : this.cuts ? " " : "";
      if (head === null || head < 0 || head >= cells2.length) return [begin + text(0, cells2.length) + end2];
      return [begin + text(0, head), el("b", { class: "at" }, `[${cells2[head]}]`), (text(head + 1, cells2.length) + end2).slice(1)];
    }
    print(printing) {
      this.printing = printing;
      this.fill();
    }
    summary() {
      const { spec } = this.run;
      const cells2 = `${spec.compared.toLocaleString("en")} cells`;
      if (spec.agrees === null) return `not checked: there is no ${spec.noun} to compare with`;
      if (spec.agrees) return `✓ ${cells2} compared with the ${spec.reference}, all agree`;
      return `✗ differs from the ${spec.reference} at position ${spec.divergence.position}`;
    }
  };

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
    draw(position, playing) {
      const { run: run2 } = this;
      set(this.story, { "aria-live": playing ? "off" : "polite" });
      const i = Math.min(position, run2.count - 1);
      if (this.history) this.drawTape(this.history, i);
      this.story.replaceChildren(...this.history ? story(run2, this.machine, this.description, i) : plainStory(run2, i));
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
      const cells2 = [];
      for (let cell = start2; cell < start2 + this.size; cell++) {
        const symbol = history2.symbol(cell, i);
        const place = cell + run2.spec.lead;
        const unread = i < run2.spec.prompt && cell >= 0 && place > i && place < run2.spec.prompt;
        cells2.push(
          el(
            "div",
            {
              class: ["cell", known && cell === h ? "here" : "", symbol === void 0 ? "blank" : "", unread ? "unread" : "", cell === fresh ? "fresh" : "", one && cell === 0 ? "wall" : ""].filter(Boolean).join(" "),
              "data-cell": cell
            },
            el("span", { class: "symbol mono" }, symbol ?? blank),
            el("span", { class: "index" }, String(cell).replace("-", "−"))
          )
        );
      }
      this.cells.replaceChildren(...cells2);
      const open = !one || start2 > 0;
      set(this.cells, { class: `cells${open ? " open-left" : ""}` });
      const state = run2.rows.text("q", i);
      this.head.hidden = !known;
      const bubble = el("span", { class: "state mono", title: state === null ? "no state yet" : null }, state ?? "⊥");
      this.head.replaceChildren(bubble);
      this.head.style.setProperty("--at", String(h - start2));
      this.keepInside(bubble, (h - start2 + 0.5) * this.cell);
      const shown = [...cells2].map((cell) => cell.firstChild.textContent).join(" ");
      set(this.cells.parentElement, {
        "aria-label": `Tape from cell ${start2}: ${shown}. The head is at cell ${h}, in state ${state ?? "none yet"}.`
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

  // src/verdict.ts
  function notices(runs, store, searched) {
    const wrong = runs.filter((run2) => run2.spec.divergence);
    if (runs.length > 1 && !wrong.length)
      return [el("aside", { class: "notice fine" }, el("b", {}, "✓ Both runs agree with the simulator in every cell."), " On this input the head never moves left at cell 0.", searched === null ? null : ` ${count(searched, "input")} were searched for one on which it does: there is none among them.`)];
    return wrong.map((run2) => {
      const { position, column: column3, expected, found, cause } = run2.spec.divergence;
      const whose = runs.length > 1 ? run2.spec.boundary === "chapter" ? "Without the repair the run" : "The repaired run" : "This run";
      const [what, ...why] = cause;
      return el(
        "aside",
        { class: "notice", role: "note", "data-position": position },
        el("p", {}, el("b", {}, "✗ ", whose, ` goes wrong at position ${position}: `), ...math(column3), ` should be `, el("b", { class: "mono" }, expected), " but is ", el("b", { class: "mono" }, found), ". "),
        el("button", { type: "button", class: "small", click: () => store.set({ i: position, playing: false }) }, `go to position ${position}`),
        what ? el("p", { class: "cause" }, el("b", {}, "Cause: "), what) : null,
        ...why.map((line) => el("p", { class: "cause" }, line))
      );
    });
  }
  function verdict(runs, circuit) {
    return runs.map((run2) => {
      const { agrees: agrees2 } = run2.spec;
      const said = circuit ? outcome(run2) : ending(run2);
      const mark = agrees2 === null ? "" : agrees2 ? "✓ " : "✗ ";
      const which = runs.length > 1 ? `${run2.spec.boundary}: ` : "";
      return el("span", { class: `badge ${agrees2 === false ? "bad" : "good"}` }, mark, which, said);
    });
  }
  function ending(run2) {
    const { answer, T, stop } = run2.spec;
    if (T === null) return "no verdict within the limit";
    return `${VERDICTS[answer] ?? (stop.length ? `ends with ${answer}` : "ends")} after T = ${T.toLocaleString("en")}`;
  }
  function outcome(run2) {
    const { T, agrees: agrees2, result, divergence } = run2.spec;
    if (divergence?.column === STOP) return "every bit is right, but the end is not";
    if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
    if (T === null) return `cut off at position ${run2.count - 1}`;
    const gates = count(T, "gate");
    return agrees2 && result ? `${gates}: ${shortened(result, 80)}` : gates;
  }

  // src/page.ts
  var SCROLLBAR = 20;
  function mount(root, data, buffers, around = {}) {
    const ended = new AbortController();
    const { signal } = ended;
    const runs = data.runs.map((spec) => new Run(spec, buffers));
    const last = Math.max(...runs.map((run2) => run2.count)) - 1;
    const parts = runs.map((run2) => run2.spec.divergence?.position).filter((at) => at !== void 0);
    const divergence = parts.length ? Math.min(...parts) : null;
    const circuit = data.circuit && new Circuit(data.circuit, buffers);
    const first = Math.min(last, Math.max(0, runs[0].spec.bos ? runs[0].turn + 1 : runs[0].turn));
    const store = new Store(last, runs[0].spec.layers.length, { i: divergence ?? first, ...around.start, ...around.address ? fromAddress() : {} }, ...begins(runs[0]));
    const controls = new Controls(store, root, signal, { ...around, divergence, graph: circuit ? "circuit" : "state graph" });
    const scene = { root, signal, store, buffers, machine: data.machine, circuit, several: runs.length > 1 };
    const views = runs.map((run2) => view(run2, scene));
    const model = data.model && new ModelPanel(data.model, runs[0], store);
    store.subscribe(({ layer }) => model?.draw(layer));
    const children = [...notices(runs, store, data.searched ?? null), el("div", { class: `runs n${runs.length}` }, ...views), model?.element, controls.element, controls.help];
    root.replaceChildren(...children.filter((child) => child != null));
    around.verdict?.replaceChildren(...verdict(runs, circuit !== null));
    const resized = new ResizeObserver(() => store.set({}));
    resized.observe(root);
    addEventListener("resize", () => store.set({}), { signal });
    leavesFocus(root, signal);
    signal.addEventListener("abort", () => {
      resized.disconnect();
      store.end();
      root.replaceChildren();
      around.verdict?.replaceChildren();
    });
    store.set({});
    store.draw();
    return { runs, store, help: () => controls.help.showModal(), dispose: () => ended.abort() };
  }
  function view(run2, { root, signal, store, buffers, machine, circuit, several }) {
    const history2 = run2.spec.tape ? new History(run2, machine?.blank ?? "_") : null;
    const bits = circuit && new Bits(circuit, run2);
    const description = Description.of(run2);
    const tape = bits ? new BitsPanel(bits, store) : new Tape(run2, machine, history2, description);
    const rules = description && new RulesPanel(description, store);
    const strip = new Strip(run2, store, circuit, description);
    const layers = new Layers(run2, store);
    const stream = new Stream(run2, store);
    const table2 = new Table(run2, store, history2, signal);
    const redraw = () => store.set({});
    const graph = bits ? new CircuitGraph(bits, buffers, redraw) : machine && new StateGraph(run2, machine, buffers, redraw);
    const titles = { repaired: "With the left-boundary repair", chapter: "As in the chapter, without the repair" };
    const title = several ? el("h2", { class: "run-title" }, titles[run2.spec.boundary] ?? run2.spec.boundary) : null;
    if (several) for (const { element } of [tape, rules, strip, layers, stream, table2, graph].filter((part) => part !== null)) set(element, { "aria-label": `${element.getAttribute("aria-label")}, ${run2.spec.boundary}` });
    const inside = el("div", { class: "inside" });
    const arrange = arranged(inside, {
      title,
      graph: graph && graph.element,
      tape: tape.element,
      rules: rules && rules.element,
      strip: strip.element,
      layers: layers.element,
      table: table2.element,
      stream: stream.element
    });
    let [width, whole2] = [0, 0];
    store.subscribe(({ i, layer, raw, playing }) => {
      if (Math.abs(width - root.offsetWidth) > SCROLLBAR || whole2 !== innerWidth) {
        [width, whole2] = [root.offsetWidth, innerWidth];
        arrange();
        for (const part of [tape, strip, table2]) part.measure();
        graph?.fit();
      }
      tape.draw(i, playing);
      rules?.draw(i);
      strip.draw(i, layer);
      layers.draw(i, layer);
      stream.draw(i, layer, raw);
      graph?.draw(i);
      graph?.follow();
      table2.draw(i);
    });
    return el("article", { class: "run", "data-boundary": run2.spec.boundary }, inside);
  }
  function arranged(inside, parts) {
    const { title, tape, rules, strip, layers, graph, table: table2, stream } = parts;
    const side = (...panels) => el("div", { class: "side" }, ...panels);
    let columns = 0;
    return () => {
      const now = getComputedStyle(inside).gridTemplateColumns.split(" ").length;
      if (now === columns) return;
      columns = now;
      const focused = document.activeElement;
      const panels = now > 1 ? [side(tape, rules, strip, layers), side(graph, table2, stream)] : [tape, rules, graph, strip, table2, layers, stream];
      inside.replaceChildren(...[title, ...panels].filter((part) => part !== null));
      if (focused instanceof HTMLElement && inside.contains(focused)) focused.focus({ preventScroll: true });
    };
  }
  function begins(run2) {
    const { lead, finds, layers } = run2.spec;
    return lead > 0 && finds ? [run2.turn, finds[0]] : [0, layers.length - 1];
  }

  // src/theme.ts
  var KEPT = "tm2tfr-theme";
  var MODES = ["auto", "light", "dark"];
  var NAMES2 = { auto: "◐ theme: auto", light: "☀ theme: light", dark: "☾ theme: dark" };
  function theme(button) {
    const apply = (mode2) => {
      set(document.documentElement, { "data-theme": mode2 });
      button.textContent = NAMES2[mode2];
    };
    let mode = "auto";
    try {
      mode = localStorage.getItem(KEPT) ?? "auto";
    } catch {
    }
    apply(MODES.includes(mode) ? mode : "auto");
    button.addEventListener("click", () => {
      mode = MODES[(MODES.indexOf(mode) + 1) % MODES.length];
      apply(mode);
      try {
        localStorage.setItem(KEPT, mode);
      } catch {
      }
    });
  }

  // src/main.ts
  async function start(script) {
    const find = (selector) => document.querySelector(selector);
    const recorded = JSON.parse(find("#data").textContent);
    const packed = await unpacked(find("#columns").textContent);
    const button = find("#theme");
    const around = { verdict: find(".verdict"), address: true, theme: () => button.click() };
    let mounted = null;
    const show = (data, buffers) => {
      if (mounted) {
        mounted.dispose();
        history.replaceState(null, "", "#");
      }
      mounted = mount(find("main"), data, buffers, around);
      window.tm2tfrShows = { data, buffers };
    };
    show(recorded, packed);
    find("#help").addEventListener("click", () => mounted.help());
    const box = new Box(recorded, packed, script, (data, buffers) => {
      show(data, buffers);
      const { input } = data.runs[0];
      find(".bar .input b").textContent = input || "(empty)";
      find(".bar .input").title = find(".bar .input").textContent;
      document.title = `${recorded.box.name} on ${quoted(input)}`;
    });
    find("main").before(box.element);
    for (const cut of document.querySelectorAll(".bar .input")) cut.title = cut.textContent;
    leavesFocus(find(".bar"));
    theme(button);
    document.documentElement.dataset["ready"] = "true";
  }
  if (typeof document === "undefined") serve();
  else
    start(document.currentScript.textContent).catch((error) => {
      document.querySelector("main").replaceChildren(el("p", { class: "notice" }, `This page cannot be shown: ${String(error)}. It needs a browser of 2024 or later.`));
      throw error;
    });
  return __toCommonJS(main_exports);
})();
