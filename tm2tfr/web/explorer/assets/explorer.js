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
    Broken: () => Broken,
    Dense: () => Dense,
    Softness: () => Softness,
    carriedOut: () => carriedOut,
    changed: () => changed,
    decoderOf: () => decoderOf,
    embeddingListing: () => embeddingListing,
    evaluate: () => evaluate,
    generate: () => generate,
    layerListing: () => layerListing,
    orderOf: () => orderOf,
    outcome: () => outcome,
    prompted: () => prompted,
    readChange: () => readChange,
    sequenceTruth: () => sequenceTruth,
    shown: () => shown,
    softened: () => softened,
    textOf: () => textOf,
    unembeddingListing: () => unembeddingListing,
    unpacked: () => unpacked,
    wholeRun: () => wholeRun,
    wordOf: () => wordOf
  });

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
  function tooSoft(head, position) {
    return new Refused(`${head}, position ${thousands(position)}: its scores are too large for float64: use a higher temperature or a wider dtype`);
  }
  function beyondTheTable(position) {
    return new Refused(`position ${thousands(position)}: these weights have ${counted(position, "position")}: stop before it`);
  }
  function layerCalled(decoder, number3) {
    return `layer ${number3} (${decoder.layers[number3 - 1].name})`;
  }
  function firstInfinite(numbers) {
    for (let n = 0; n < numbers.length; n++) if (!Number.isFinite(numbers[n])) return n;
    return -1;
  }
  function counted(number3, noun) {
    return `${thousands(number3)} ${noun}${number3 === 1 ? "" : "s"}`;
  }
  function thousands(number3) {
    return number3.toLocaleString("en-US");
  }
  function quoted(text) {
    const mark2 = text.includes("'") && !text.includes('"') ? '"' : "'";
    let inside = "";
    for (const sign2 of text) inside += sign2 === "\\" || sign2 === mark2 ? `\\${sign2}` : escaped(sign2);
    return `${mark2}${inside}${mark2}`;
  }
  function visible(text) {
    return UNPRINTABLE.test(text) ? [...text].map(escaped).join("") : text;
  }
  var SHORT = { "\n": "\\n", "\r": "\\r", "	": "\\t" };
  var UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
  function escaped(sign2) {
    if (SHORT[sign2]) return SHORT[sign2];
    if (!UNPRINTABLE.test(sign2)) return sign2;
    const code2 = sign2.codePointAt(0).toString(16);
    if (code2.length <= 2) return `\\x${code2.padStart(2, "0")}`;
    return code2.length <= 4 ? `\\u${code2.padStart(4, "0")}` : `\\U${code2.padStart(8, "0")}`;
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
    /** where: what its layer is called; careful: whether a number can get too large; inverse: 1/τ at a position, null for 1. */
    constructor(head, where, careful, inverse) {
      this.where = where;
      this.careful = careful;
      this.inverse = inverse;
      const keys2 = new Set(head.key.rows);
      const both = Int32Array.from(new Set(head.query.rows)).filter((row) => keys2.has(row));
      [this.name, this.mask, this.soft, this.uniform] = [head.name, head.mask, head.soft, both.length === 0];
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
    inverse;
    /** The rows of the stream that it adds to. */
    rows;
    /** What it adds to them, once it has looked. */
    added;
    /** Whether all scores are 0 by construction, so that all positions in sight share the attention. */
    uniform;
    mask;
    soft;
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
        if (this.inverse) {
          const factor = this.inverse(position, length);
          for (let n = 0; n < scores.length; n++) scores[n] *= factor;
        }
        if (this.careful && firstInfinite(scores) >= 0) throw this.soft ? tooSoft(this.named, position) : tooLarge(this.named, position, "a score");
        look = best(scores, start2);
        if (this.soft) look.weights = softmax(scores);
      }
      if (look?.weights) this.weigh(look.weights, start2);
      else this.average(look && look.attended, start2, end2, length);
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
    get named() {
      return `${this.where}, head ${quoted(this.name)}`;
    }
    /** Put the sum of the values, each times its weight, into `mean`, from the first position in sight on. */
    weigh(weights, start2) {
      for (let c = 0; c < this.mean.length; c++) {
        const component = this.values.component(c);
        let sum2 = component[start2] * weights[0];
        for (let n = 1; n < weights.length; n++) sum2 += component[start2 + n] * weights[n];
        this.mean[c] = sum2;
      }
    }
    /** Put the mean of the values into `mean`: over the positions attended to, all in sight if null. */
    average(attended, start2, end2, length) {
      const { values, mean: mean2 } = this;
      const many = attended ? attended.length : end2 - start2;
      const whole3 = start2 === 0 && end2 === length && many === length;
      for (let c = 0; c < mean2.length; c++) {
        const component = values.component(c);
        let sum2;
        if (whole3) sum2 = values.sums[c];
        else if (attended) {
          sum2 = component[attended[0]];
          for (let n = 1; n < many; n++) sum2 += component[attended[n]];
        } else {
          sum2 = component[start2];
          for (let j = start2 + 1; j < end2; j++) sum2 += component[j];
        }
        mean2[c] = sum2 / many;
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
    return { scores, attended, runner: runner < 0 ? -1 : start2 + runner, weights: null };
  }
  function softmax(scores) {
    let most = -Infinity;
    for (const score of scores) if (score > most) most = score;
    const powers = scores.map((score) => Math.exp(score - most));
    let sum2 = 0;
    for (const power2 of powers) sum2 += power2;
    return powers.map((power2) => power2 / sum2);
  }

  // src/data.ts
  var DUE = 0.8;
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (sign2) => sign2.charCodeAt(0));
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
      const { number: number3, signed } = this.columns.get(column3).heading;
      if (!number3) return this.text(column3, i) ?? "⊥";
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
  var LOOKS = 0.05;
  var Run = class {
    constructor(spec, buffers) {
      this.spec = spec;
      this.rows = new Sheet(spec.rows, spec.columns, buffers, spec.texts);
      this.expected = spec.expected ? new Sheet(spec.expected, spec.columns, buffers, spec.texts) : this.rows;
      this.stages = spec.stages.map(
        (written3) => new Map(
          written3.map(([n, { values, others }]) => [
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
      for (let s = Math.min(stage, 2 * this.steps); s >= 0; s--) {
        const column3 = this.stages[s].get(n);
        if (!column3) continue;
        const number3 = column3.values[i];
        if (!subspace.labels) return { number: number3, coordinates: [number3] };
        const coordinates2 = column3.others.get(i) ?? subspace.labels.map((_, k) => k + 1 === number3 ? 1 : 0);
        return { number: number3, coordinates: coordinates2 };
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
  function looks({ mask, seen, sharers, weights: all }, positions2, buffers) {
    const sight = (i) => inSight(mask, i, positions2);
    if (!seen) {
      return (i) => {
        const [start2, end2] = sight(i);
        return { uniform: true, sight: [start2, end2], winner: start2, count: end2 - start2, score: 0, runner: -1, runnerScore: 0, sharers: [], weights: null };
      };
    }
    const [winner, count2, score, runner, runnerScore] = ["winner", "count", "score", "runner", "runner_score"].map((name) => buffers(seen[name]));
    const soft = all ? buffers(all) : null;
    const starts = [0];
    for (let i = 0; soft && i < positions2; i++) starts.push(starts[i] + sight(i)[1] - sight(i)[0]);
    return (i, pass) => {
      const n = Math.max(0, pass - 1) * positions2 + i;
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
      const bits3 = this.circuit.operands(net).map((operand) => this.at(operand, i));
      if (bits3.some((bit) => bit !== "0" && bit !== "1")) return null;
      return this.circuit.table(net)[bits3.reduce((index, bit) => 2 * index + Number(bit), 0)];
    }
  };

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
  function replacing(replace) {
    const { id } = document.activeElement ?? { id: "" };
    const top = scrollY;
    replace();
    if (id) document.getElementById(id)?.focus({ preventScroll: true });
    scrollTo(0, top);
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
  function uncompared({ noun, reference, live }) {
    return live.compared ? `the ${reference} is not in this page` : `there is no ${noun} to compare with`;
  }
  function stoppedAfter({ count: positions2, divergence }) {
    return `stopped ${count(positions2 - 1 - divergence.position, "position")} after the first difference`;
  }
  function symbolOf(name) {
    const match = /^e_(\w)(?:\((.*)\))?$/.exec(name);
    return match ? match[2] ? `${match[1]}_{${match[2]}}` : match[1] : name;
  }
  function number(value, denominators) {
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
    if (!subspace.labels) return number(value.number, spec.labels ? [i + 1, spec.count, spec.count - i] : [i + 1]);
    if (value.number > 0) return subspace.labels[value.number - 1];
    if (value.number === 0) return "⊥";
    const terms2 = value.coordinates.flatMap((v, k) => v ? [`${v === 1 ? "" : `${digits(v)}·`}${subspace.labels[k]}`] : []);
    return `⟨${terms2.slice(0, 4).join(" + ")}${terms2.length > 4 ? " + …" : ""}⟩`;
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
  function lookedUp({ wanted, look, found, due }) {
    const asked = ["looks for ", token(wanted)];
    if (found) return [...asked, " and finds ", token(`→${found.answer}`), `, at position ${found.value}`];
    if (due) return [...asked, ` but not at position ${due.value}, where that rule is`];
    const spread = look.uniform ? "all positions share" : look.count > 1 ? `${count(look.count, "position")} share` : `position ${look.winner} has`;
    return [...asked, ": no rule: ", token("HALT"), ` (${spread} the attention)`];
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
      const triple2 = (move) => `(${machine.states[r].name},${b},${move > 0 ? "+" : ""}${move})`;
      let link = answer === triple2(m) ? ", so the next token is " : ", but the next token is ";
      if (end2) link = ", and the answer is ";
      else if (machine.tape === "one-way" && head === 0 && m < 0 && answer === triple2(0)) link = "; at the left end the head stays, so the next token is ";
      return [...said, ": ", token(why), link, token(answer), "."];
    }
    return [...said, end2 ? ": the answer is " : ": the next token is ", token(answer), "."];
  }
  function ruleAt(machine, state, symbol2) {
    const q = machine.states.findIndex(({ name }) => name === state);
    return machine.rules.find((rule) => rule[0] === q && rule[1] === symbol2);
  }

  // src/live/truth/circuit.ts
  var OPERANDS = 3;
  function evaluated({ gates }, word) {
    const bits3 = word.map(Number);
    for (const { table: table2, operands } of gates) bits3.push(Number(table2[operands.reduce((index, net) => 2 * index + bits3[net], 0)]));
    return bits3;
  }
  function positions({ inputs, gates }, maxSteps) {
    return inputs - 1 + Math.min(maxSteps ?? Infinity, gates.length);
  }
  function* circuitRows(circuit, word, maxSteps, columns) {
    const bits3 = evaluated(circuit, word);
    for (let i = 0; i < positions(circuit, maxSteps); i++) yield cells(circuit, bits3, i, columns);
  }
  function cells({ inputs, gates, names }, bits3, i, columns) {
    const gate = gates[i + 1 - inputs];
    const before = i < inputs - 1;
    const found = gate?.operands.length ? gate.operands : [0];
    const places = Array.from({ length: OPERANDS }, (_, n) => found[Math.min(n, found.length - 1)]);
    const cases = 2 ** OPERANDS;
    const digits2 = gate ? [...gate.table].map((bit) => bit.repeat(cases / gate.table.length)).join("") : "0".repeat(cases);
    const known = { x: String(bits3[i]), gate: names[digits2] ?? digits2, y: before ? ANY : String(bits3[i + 1]) };
    ["a", "b", "c"].forEach((name, n) => {
      known[name] = places[n];
      known[`x_${name}`] = bits3[places[n]];
    });
    const signs = gate ? gate.operands.map((net) => 2 * bits3[net] - 1) : [];
    known["mean"] = before ? ANY : signs.reduce((sum2, sign2) => sum2 + sign2, 0) / signs.length;
    return columns.map((name) => {
      const cell = known[name];
      if (cell === void 0) throw new Error(`the evaluator in the page says nothing of the column ${name}`);
      return cell;
    });
  }
  function circuitSays(circuit, word, maxSteps) {
    const last = circuit.inputs + circuit.gates.length - 1;
    return {
      facts: () => ({ about: (i) => answers(circuit, i), bump: () => null }),
      result() {
        if (positions(circuit, maxSteps) < last) return "";
        const bits3 = evaluated(circuit, word);
        const out = circuit.outputs.map((net) => bits3[net]);
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
  function answers({ inputs, gates, nets }, i) {
    const gate = gates[i + 1 - inputs];
    return gate ? `position ${i} answers net ${nets[i + 1]}: ${gate.kind}(${gate.operands.map((net) => nets[net]).join(", ")})` : null;
  }
  function whole(bits3) {
    return bits3.reduce((number3, bit) => 2n * number3 + BigInt(bit), 0n);
  }
  function hexadecimal(bits3) {
    return whole(bits3).toString(16).padStart(bits3.length / 4, "0");
  }

  // src/live/truth/machine.ts
  var VERDICTS2 = ["ACC", "REJ", "HALT"];
  function triple(state, symbol2, move) {
    return `(${state},${symbol2},${move > 0 ? "+" : ""}${move})`;
  }
  function* machineRows(machine, word, maxSteps) {
    const { states, blank, lead } = machine;
    const under = word[0] ?? blank;
    for (const token3 of lead) yield [token3, null, null, 0, 0, blank, token3];
    for (const symbol2 of word) yield [symbol2, null, null, 0, 0, under, symbol2];
    let token2 = machine.first ?? triple(states[machine.start], under, 0);
    yield ["BOS", null, null, 0, 0, under, token2];
    if (VERDICTS2.includes(token2)) return;
    const rules = new Map(machine.rules.map(([q, a, ...rule]) => [`${q},${a}`, rule]));
    const halting = new Set(machine.halting);
    const tape = new Map(word.map((symbol2, cell) => [cell, symbol2]));
    let [state, head, written3, moved] = [machine.start, 0, under, 0];
    for (let step = 0; ; step++) {
      const symbol2 = tape.get(head) ?? blank;
      const rule = halting.has(state) ? void 0 : rules.get(`${state},${symbol2}`);
      const row = [token2, states[state], written3, moved, head, symbol2];
      if (!rule) {
        const unruled = machine.unruled.find(([q, a]) => q === state && a === symbol2);
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
      [state, head, written3, moved] = [next, head + made, write, said];
    }
  }
  function machineSays(machine) {
    return {
      result: () => "",
      facts: (rows, columns) => factsOf(machine, rows, columns),
      ending(stop) {
        const lacking = machine.verdicts.filter((token2) => !stop.includes(token2));
        const early = stop.filter((token2) => !VERDICTS2.includes(token2));
        const listed2 = (tokens) => tokens.join(", ") || "empty";
        return lacking.length || early.length ? { expected: listed2(machine.verdicts), found: listed2(stop) } : null;
      }
    };
  }
  function factsOf({ lead, bump }, rows, columns) {
    const [q, m, h, a] = ["q", "m", "h", "a"].map((name) => columns.indexOf(name));
    const first = bump === null ? -1 : rows.findIndex((row, k) => k > 0 && row[m] === -1 && rows[k - 1][h] === 0 && row[h] === 0);
    return {
      about(i) {
        const key = lead.indexOf(`${String(rows[i][q])},${String(rows[i][a])}`);
        return rows[i][q] === null || key < 0 || key + 1 >= i ? null : `the rule ${lead[key]} ${lead[key + 1]}, at position ${key + 1}`;
      },
      bump: (i) => first < 0 || i < first ? null : bump.replace("{bump}", String(first)).replace("{token}", String(rows[first][0]))
    };
  }

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
  function atomOf(spec) {
    if (typeof spec === "number") return BigInt(spec);
    if (typeof spec !== "object") return spec;
    return "whole" in spec ? BigInt(spec.whole) : new Fraction(BigInt(spec.over[0]), BigInt(spec.over[1]));
  }
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
  function shownValue(value, numeric) {
    return numeric && typeof value === "boolean" ? String(Number(value)) : shownAtom(value);
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
  function whole2(value) {
    return typeof value === "boolean" ? BigInt(value) : value;
  }
  function fraction(value) {
    return value instanceof Fraction ? value : new Fraction(whole2(value));
  }
  function exactly(a, b, wholes, fractions) {
    if (a instanceof Fraction || b instanceof Fraction) return fractions(fraction(a), fraction(b));
    return wholes(whole2(a), whole2(b));
  }
  function two(sign2, a, b) {
    if (typeof a === "string" || typeof b === "string") throw refused(sign2, a, b);
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
  function mean(values) {
    let sum2 = 0n;
    for (const value of values) sum2 = plus(sum2, value);
    const { over, under } = fraction(sum2);
    return new Fraction(over, under * BigInt(values.length));
  }
  function plus(a, b) {
    return exactly(a, b, (x, y) => x + y, (x, y) => new Fraction(x.over * y.under + y.over * x.under, x.under * y.under));
  }
  function times(a, b) {
    return exactly(a, b, (x, y) => x * y, (x, y) => new Fraction(x.over * y.over, x.under * y.under));
  }
  function negated(a) {
    return a instanceof Fraction ? new Fraction(-a.over, a.under) : -whole2(a);
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
    if (!(a instanceof Fraction)) return whole2(a);
    const below = floored(a.over, a.under);
    const twice = 2n * (a.over - below * a.under);
    if (twice === a.under) return below % 2n === 0n ? below : below + 1n;
    return twice < a.under ? below : below + 1n;
  }
  function nearest(value) {
    if (!(value instanceof Fraction)) return Number(whole2(value));
    const { under } = value;
    const over = absolute(value.over);
    if (!over) return 0;
    const shift = BigInt(Math.max(0, 66 - bits(over) + bits(under)));
    const scaled = over << shift;
    const quotient = scaled / under;
    const sticky = scaled % under ? quotient | 1n : quotient;
    const size = shift > 1000n ? tiny(sticky, shift) : Number(sticky) / 2 ** Number(shift);
    return value.over < 0n ? -size : size;
  }
  function tiny(number3, shift) {
    const spare = BigInt(Math.max(0, Number(shift) - 1074));
    const kept = number3 >> spare;
    const half = spare ? number3 >> spare - 1n & 1n : 0n;
    const rest = spare > 1n ? number3 & (1n << spare - 1n) - 1n : 0n;
    const up = half && (rest || kept & 1n) ? 1n : 0n;
    const fits = bits(number3) - Number(shift) > -1022;
    if (fits) return Number(number3) / 2 ** 1e3 / 2 ** (Number(shift) - 1e3);
    return Number(kept + up) * 2 ** -1074;
  }
  function equal(a, b) {
    if (typeof a === "string" || typeof b === "string") return a === b;
    const [x, y] = [fraction(a), fraction(b)];
    return x.over === y.over && x.under === y.under;
  }
  function keyOf(value) {
    if (typeof value === "string") return `"${value}`;
    const { over, under } = fraction(value);
    return `${over.toString(16)}/${under.toString(16)}`;
  }
  function order(a, b) {
    if (typeof a === "string" && typeof b === "string") return byCodePoint(a, b);
    const [x, y] = [fraction(a), fraction(b)];
    const difference3 = x.over * y.under - y.over * x.under;
    return difference3 < 0n ? -1 : difference3 > 0n ? 1 : 0;
  }
  function byCodePoint(a, b) {
    const [x, y] = [[...a], [...b]];
    for (let n = 0; n < Math.min(x.length, y.length); n++) if (x[n] !== y[n]) return x[n].codePointAt(0) - y[n].codePointAt(0);
    return x.length - y.length;
  }
  function compare(sign2, holds) {
    return (a, b) => {
      if (typeof a === "string" !== (typeof b === "string")) throw refused(sign2, a, b);
      return holds(order(a, b));
    };
  }
  function truthy(value) {
    return typeof value === "string" ? value !== "" : !isZero(value);
  }
  function number2(word, of) {
    return (a) => {
      if (typeof a === "string") throw refused(word, a);
      return of(a);
    };
  }
  var UNARY = {
    not: (a) => !truthy(a),
    neg: number2("-", negated),
    pos: number2("+", (a) => a instanceof Fraction ? a : whole2(a)),
    round: number2("round", rounded),
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
      const many = whole2(count2) < 0n ? 0n : whole2(count2);
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
  function oneType(values) {
    return values.every((value) => typeof value === "string" === (typeof values[0] === "string"));
  }
  function averaged(values) {
    return !values.some((value) => typeof value === "string") && !values.every((value) => typeof value === "boolean");
  }

  // src/live/truth/logic.ts
  var RELATIONS2 = {
    "<=": (left, right) => left <= right,
    "<": (left, right) => left < right,
    ">=": (left, right) => left >= right,
    ">": (left, right) => left > right,
    "==": (left, right) => left === right,
    "!=": (left, right) => left !== right
  };
  var IN_SIGHT = {
    "<=": (j, i) => j <= i,
    "<": (j, i) => j < i,
    ">=": (j, i) => j >= i,
    ">": (j, i) => j > i,
    any: () => true
  };
  function evaluatedLogic({ nodes, alphabet }, letters2) {
    const n = letters2.length;
    if (!n) throw new Refused("the word is empty: formulas and programs are defined on at least one token");
    const values = [];
    const at = (node, i) => values[node][i - 1];
    const positions2 = letters2.map((_, k) => k + 1);
    const selected3 = [];
    nodes.forEach((node, number3) => {
      const matrix = node.operator === "retrieve" ? positions2.map((i) => positions2.map((j) => IN_SIGHT[node.sight](j, i) && selects(node.score, at, i, j))) : null;
      selected3.push(matrix);
      values[number3] = positions2.map((i) => node.operator === "input" ? alphabet[letters2[i - 1]] : matrix ? retrieved(node, at, i, matrix[i - 1]) : defined(node, at, i, n));
    });
    return { values, selected: selected3 };
  }
  function selects(score, at, i, j) {
    if ("key" in score) return Boolean(at(score.key, j));
    if ("query" in score) return Boolean(at(score.query, i));
    if ("equal" in score) return at(score.equal[0], j) === at(score.equal[1], i);
    if ("all" in score) return score.all.every((part) => selects(part, at, i, j));
    if ("any" in score) return score.any.some((part) => selects(part, at, i, j));
    return !selects(score.not, at, i, j);
  }
  function retrieved({ choice, values, default: otherwise }, at, i, row) {
    const j = (choice === "latest" ? row.lastIndexOf(true) : row.indexOf(true)) + 1;
    return j ? at(values, j) : at(otherwise, i);
  }
  function defined(node, at, i, n) {
    const [first, second, third] = node.arguments;
    const count2 = (from, to) => between(from, to).filter((j) => at(first, j)).length;
    switch (node.operator) {
      case "place":
        return BigInt(i);
      case "text":
      case "always":
        return node.value;
      case "choose":
        return at(first, i) ? at(second, i) : at(third, i);
      case "one of":
        return node.values.includes(at(first, i));
      case "same":
        return at(first, i) === at(second, i);
      case "not":
        return !at(first, i);
      case "and":
        return node.arguments.every((part) => at(part, i));
      case "or":
        return node.arguments.some((part) => at(part, i));
      case "previous":
        return i > 1 && Boolean(at(first, i - 1));
      case "next":
        return i < n && Boolean(at(first, i + 1));
      case "since":
        return between(1, i).some((j) => at(second, j) && between(j, i).every((k) => at(first, k)));
      case "until":
        return between(i, n).some((j) => at(second, j) && between(i, j).every((k) => at(first, k)));
      case "count left":
        return BigInt(count2(1, i));
      case "count right":
        return BigInt(count2(i, n));
      case "comparison":
        return RELATIONS2[node.relation](at(first, i), at(second, i));
      case "predicate":
        return satisfied(node, at(first, i));
      case "sum":
        return node.arguments.reduce((sum2, term, k) => sum2 + atomOf(node.factors[k]) * BigInt(at(term, i)), atomOf(node.constant));
      default:
        throw new Error(`${node.operator} is not a node of a formula`);
    }
  }
  function satisfied({ predicate, modulus, remainder }, t) {
    if (predicate === "mod") return (t % BigInt(modulus) + BigInt(modulus)) % BigInt(modulus) === BigInt(remainder);
    if (predicate === "power of 2") return t > 0n && (t & t - 1n) === 0n;
    if (predicate === "square") {
      for (let d = 0n; d * d <= t; d++) if (d * d === t) return true;
      return false;
    }
    for (let d = 2n; d < t; d++) if (t % d === 0n) return false;
    return t >= 2n;
  }
  function between(from, to) {
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, k) => from + k);
  }

  // src/live/truth/rasp.ts
  var MOST_PASSES = 1e4;
  var Undefined = class extends Refused {
  };
  var Missing = class extends Error {
  };
  function interpreted({ nodes, tokens }, letters2, passes) {
    if (!letters2.length) throw new Refused("the input is empty: RASP programs are defined on at least one token");
    const steps = nodes.map(stepOf);
    const done = [];
    const undefinedAt = (n, why) => {
      const { at, variable } = nodes[n];
      const position = failing(steps[n], nodes[n], done, letters2);
      const place = at ? `line ${at[0]}, column ${at[1]}: ` : "";
      const there = position === null ? "" : ` at position ${position}`;
      const named = variable ? `${quoted(variable)} is undefined` : "a value is undefined";
      const input = quoted(shownWord(letters2.map((letter) => atomOf(tokens[letter]))));
      return new Undefined(`${place}${named} on the input ${input}${there}: ${why}: use another input, or define the value there`);
    };
    const made = (n, words2 = "") => {
      const node = nodes[n];
      try {
        done[n] = node.operator === "repeat" ? repeated(n, node) : steps[n](done, letters2);
      } catch (error) {
        if (error instanceof ValueRefused) throw undefinedAt(n, words2 + error.message);
        throw error;
      }
    };
    const repeated = (n, { states, nexts, times: times4, until, again }) => {
      const seen = /* @__PURE__ */ new Set();
      let number3 = 1;
      while (number3 !== passes.get(n) && number3 !== times4 && !ends(until === null ? null : done[until])) {
        const handed = nexts.map((next) => done[next]);
        const key = JSON.stringify(handed.map((values) => values.map(keyOf)));
        if (times4 === null && (seen.has(key) || number3 === MOST_PASSES)) {
          const why = seen.has(key) ? "what it hands to the next pass comes back" : `${thousands(MOST_PASSES)} passes are made`;
          throw new ValueRefused(`the loop does not end: ${why}, and its condition does not hold at every position`);
        }
        seen.add(key);
        states.forEach((state, k) => done[state] = handed[k]);
        number3++;
        for (const each of again) made(each, `in pass ${number3} of its loop `);
      }
      return number3;
    };
    for (let n = 0; n < nodes.length; n++) made(n);
    return done;
  }
  function ends(condition) {
    const wrong = condition?.find((value) => typeof value !== "boolean");
    if (wrong !== void 0) throw new ValueRefused(`the condition of a loop is true or false, not ${shown(wrong)}`);
    return condition !== null && condition.every(Boolean);
  }
  function failing(step, { operator }, done, letters2) {
    if (operator === "repeat") return null;
    for (let position = 0; position < letters2.length; position++) {
      const part = done.map((row) => typeof row === "number" ? row : row.slice(position, position + 1));
      try {
        step(part, letters2.slice(position, position + 1));
      } catch (error) {
        if (error instanceof ValueRefused) return position;
        if (error instanceof Missing) return null;
        throw error;
      }
    }
    return null;
  }
  function shownWord(tokens) {
    const single = tokens.every((token2) => typeof token2 === "string" && [...token2].length === 1);
    return single ? tokens.join("") : `[${tokens.map(shown).join(", ")}]`;
  }
  function stepOf(node) {
    const values = (n) => (done) => done[node.arguments[n]];
    switch (node.operator) {
      case "tokens": {
        const known = node.values.map((value) => typeof value === "object" && "refused" in value ? value.refused : { value: atomOf(value) });
        return (_, letters2) => sequence(
          letters2.map((letter) => {
            const found = known[letter];
            if (typeof found === "string") throw new ValueRefused(found);
            return found.value;
          })
        );
      }
      case "indices":
        return (_, letters2) => letters2.map((_2, i) => BigInt(i));
      case "constant": {
        const value = atomOf(node.value);
        return (_, letters2) => letters2.map(() => value);
      }
      case "elementwise":
        return elementwise(node, node.arguments.map((_, n) => values(n)));
      case "select":
        return selected2(RELATIONS[node.relation], values(0), values(1));
      case "combined":
        return combined(node);
      case "aggregate":
        return aggregated(node);
      case "state":
        return values(0);
      case "looped":
        return values(1);
      default:
        return () => 1;
    }
  }
  function sequence(values) {
    if (oneType(values)) return values;
    const text = values.find((value) => typeof value === "string");
    const other = values.find((value) => typeof value !== "string");
    throw new ValueRefused(`a sequence cannot have both texts and other values, here ${shown(text)} and ${shown(other)}`);
  }
  function elementwise(node, of) {
    const name = node.function;
    if (name === "in" || name === "table") {
      const known = /* @__PURE__ */ new Map();
      for (const [key, value] of node.entries) known.set(keyOf(atomOf(key)), atomOf(value));
      if (name === "in") return (done) => of[0](done).map((value) => known.has(keyOf(value)));
      return (done) => {
        const missing = of[0](done).find((value) => !known.has(keyOf(value)));
        if (missing !== void 0) throw new ValueRefused(`there is no entry for ${shown(missing)}`);
        return sequence(of[0](done).map((value) => known.get(keyOf(value))));
      };
    }
    if (name === "if") {
      return (done) => {
        const [then, condition, other] = of.map((each) => each(done));
        return sequence(then.map((value, i) => truthy(condition[i]) ? value : other[i]));
      };
    }
    if (of.length === 1) return (done) => of[0](done).map(UNARY[name]);
    const binary = BINARY[name];
    return (done) => {
      const right = of[1](done);
      return of[0](done).map((value, i) => binary(value, right[i]));
    };
  }
  function selected2(relation, key, query) {
    return (done) => {
      const made = /* @__PURE__ */ new Map();
      return query(done).map((asked) => {
        const name = keyOf(asked);
        if (!made.has(name)) made.set(name, key(done).map((value) => relation(value, asked)));
        return made.get(name);
      });
    };
  }
  function combined(node) {
    const [left, right] = node.arguments;
    if (node.function === "not") return (done) => done[left].map((row) => row.map((entry2) => !entry2));
    const both = node.function === "and" ? (a, b) => a && b : (a, b) => a || b;
    return (done) => {
      const other = done[right];
      return done[left].map((row, i) => row.map((entry2, j) => both(entry2, other[i][j])));
    };
  }
  function aggregated(node) {
    const [selector, values] = node.arguments;
    const otherwise = atomOf(node.default);
    return (done) => {
      const candidates = done[values];
      const taken = (row, query) => {
        const places = row.flatMap((entry2, j) => entry2 ? [j] : []);
        if (!places.length) return otherwise;
        if (places.length > 1 && !averaged(candidates)) {
          const text = typeof candidates[0] === "string";
          const what = text ? "texts have no mean" : "truth values have no mean, but indicator(…) makes 0 and 1 of them";
          throw new ValueRefused(`position ${query} selects ${counted(places.length, "position")}, and ${what}`);
        }
        const found = places.flatMap((j) => j < candidates.length ? [candidates[j]] : []);
        if (places.length === 1 && !found.length) throw new Missing();
        return places.length === 1 ? found[0] : mean(found);
      };
      return sequence(done[selector].map(taken));
    };
  }

  // src/live/truth/sequence.ts
  function evaluate(spec, tokens, passes = /* @__PURE__ */ new Map()) {
    const letters2 = tokens.map((token2, i) => {
      const letter = spec.alphabet.indexOf(token2);
      if (letter < 0) throw new Refused(`${visible(spec.name)}: token ${i} of the input, ${quoted(token2)}, is not in the alphabet: use ${spec.alphabet.map(visible).join(", ")}`);
      return letter;
    });
    const texts = (values2) => values2.map((row, n) => row.map((value) => shownValue(value, spec.nodes[n].numeric)));
    if (spec.kind === "logic") {
      const { values: values2, selected: selected4 } = evaluatedLogic(spec, letters2);
      return { letters: letters2, values: values2, selected: selected4, texts: texts(values2), passes: /* @__PURE__ */ new Map() };
    }
    const rows = interpreted(spec, letters2, passes);
    const kinds = spec.nodes.map(({ kind: kind2 }) => kind2);
    const values = rows.map((row, n) => kinds[n] === "sop" ? row : []);
    const selected3 = rows.map((row, n) => kinds[n] === "selector" ? row : null);
    const made = rows.flatMap((row, n) => kinds[n] === "loop" ? [[n, row]] : []);
    return { letters: letters2, values, selected: selected3, texts: texts(values), passes: new Map(made) };
  }
  function sequenceTruth(spec, word) {
    const found = evaluate(spec, word);
    const states = spec.automaton && statesOf(spec.automaton, found.letters);
    const columns = spec.outputs.map(({ name, node, number: number3 }) => {
      if (node === null) return automatonCells(spec.automaton, name, states);
      return found.values[node].map((value, i) => number3 && typeof value !== "string" ? nearest(value) : found.texts[node][i]);
    });
    const ends2 = spec.outputs.map((output) => outside(spec, output));
    const rows = [...spec.before, ...word, ...spec.after].map((token2, p) => {
      const i = p - spec.before.length;
      return [token2, ...columns.map((column3, k) => i >= 0 && i < word.length ? column3[i] : ends2[k])];
    });
    const facts = () => ({ about: () => null, bump: () => null });
    return { lead: spec.before, rows: rows.values(), result: () => "", ending: () => null, facts };
  }
  function outside({ nodes, automaton }, { name, node }) {
    if (node === null) return name === automaton.state ? NOTHING : "F";
    const { kind: kind2 } = nodes[node];
    return kind2 === "number" ? ANY : kind2 === "label" ? NOTHING : "F";
  }
  var NOTHING = "⊥";
  function statesOf({ start: start2, next }, letters2) {
    let state = start2;
    return letters2.map((letter) => state = next[state][letter]);
  }
  function automatonCells({ labels, accepting, state }, name, states) {
    return states.map((now) => name === state ? labels[now] : accepting[now] ? "T" : "F");
  }
  function outcome(spec, { values, texts, letters: letters2 }) {
    if (spec.automaton) return spec.automaton.accepting[statesOf(spec.automaton, letters2).at(-1)] ? "accept" : "reject";
    const { kind: kind2 } = spec.nodes[spec.root];
    if (kind2 === "bit") return values[spec.root].at(-1) ? "accept" : "reject";
    const found = texts[spec.root];
    return found.join(kind2 === "number" || found.some((text) => [...text].length !== 1) ? " " : "");
  }

  // src/live/truth/reference.ts
  var ANY = /* @__PURE__ */ Symbol("any");
  function truthOf(reference, { word, maxSteps, columns, gates, sequence: sequence2 }) {
    if (reference.kind === "machine") return { lead: reference.lead, rows: machineRows(reference, word, maxSteps), ...machineSays(reference) };
    if (reference.kind === "sequence") {
      if (!sequence2) throw new Error("a program's reference needs its nodes");
      return sequenceTruth(sequence2, word);
    }
    if (!gates) throw new Error("a circuit's reference needs its gates");
    return { lead: [], rows: circuitRows(gates, word, maxSteps, columns), ...circuitSays(gates, word, maxSteps) };
  }
  function agrees(expected, found) {
    return expected === ANY || expected === found;
  }

  // src/live/document.ts
  var NAMES = ["winner", "count", "score", "runner", "runner_score"];
  var Extra = class {
    columns = [];
    add(values) {
      this.columns.push(values);
      return { type: "f8", at: -this.columns.length, count: values.length };
    }
  };
  function shelved(columns, { at }) {
    return at < 0 ? columns[-1 - at] : null;
  }
  function documented(old, ran, word, result, extra) {
    const { rows, expected, divergence, compared: compared2, answer, T, recorder } = ran;
    const { shown: shown2 } = old.live;
    const show = (text) => Object.hasOwn(shown2, text) ? shown2[text] : visible(text);
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
      rows: sheet(old.columns, rows, texts, show, extra),
      expected: divergence ? sheet(old.columns, expected, texts, show, extra) : null,
      checked: expected.length,
      unspecified: unspecified(old.columns, expected, extra),
      divergence,
      ...ran.stopped ? { stopped: true } : {},
      layers: old.layers.map((layer, l) => {
        const passes = recorder.seen.filter((_, step) => recorder.steps[step][0] === l);
        return { ...layer, heads: layer.heads.map((head, k) => head.seen ? { ...head, ...looks2(passes.map((seen) => seen[k]), count2, extra) } : head) };
      }),
      steps: recorder.steps,
      stages: recorder.written.map((columns) => [...columns].sort(([a], [b]) => a - b).map(([n, { values, others }]) => [n, { values: extra.add(values.upto(count2)), ...coordinates(others, count2) }])),
      texts: [...texts.keys()]
    };
  }
  function sheet(columns, rows, texts, show, extra) {
    const interned = (cell) => {
      if (cell === null || cell === ANY) return 0;
      const text = show(String(cell));
      if (!texts.has(text)) texts.set(text, texts.size);
      return texts.get(text) + 1;
    };
    const number3 = (cell) => cell === ANY ? 0 : Number(cell);
    return Object.fromEntries(columns.map(({ name, number: numeric }, n) => [name, extra.add(Float64Array.from(rows, (row) => (numeric ? number3 : interned)(row[n])))]));
  }
  function unspecified(columns, expected, extra) {
    const free = columns.flatMap(({ name }, n) => {
      const cells2 = Uint8Array.from(expected, (row) => Number(row[n] === ANY));
      return cells2.includes(1) ? [[name, cells2]] : [];
    });
    return Object.fromEntries(free.map(([name, cells2]) => [name, extra.add(cells2)]));
  }
  function looks2(passes, count2, extra) {
    const places = Object.fromEntries(NAMES.map((name) => [name, extra.add(joined(passes.map((seen) => seen[name].upto(count2))))]));
    const sharers = Object.fromEntries(passes.flatMap((seen, n) => [...seen.sharers].filter(([i]) => i < count2).map(([i, shared]) => [n * count2 + i, shared])));
    const weights = passes.flatMap((seen) => [...seen.weights].filter(([i]) => i < count2).sort(([a], [b]) => a - b).map(([, own]) => own));
    const soft = weights.length ? { weights: extra.add(joined(weights)) } : {};
    return { ...soft, seen: places, sharers };
  }
  function joined(parts3) {
    return parts3.length === 1 ? parts3[0] : Float64Array.from(parts3.flatMap((part) => [...part]));
  }
  function coordinates(others, count2) {
    const kept = [...others].filter(([i]) => i < count2).sort(([a], [b]) => a - b);
    return kept.length ? { others: Object.fromEntries(kept) } : {};
  }

  // src/live/decoder.ts
  function decoderOf(spec, buffers) {
    const { width, vocabulary, features, expressions, positions: positions2, outputs } = spec;
    const [counts, rows, columns, values] = [buffers(spec.counts), buffers(spec.rows), buffers(spec.columns), buffers(spec.values)];
    let matrix = 0;
    let entry2 = 0;
    const next = (height, across) => {
      const end2 = entry2 + counts[matrix++];
      const found = { height, width: across, rows: sums(rows, entry2, end2), columns: sums(columns, entry2, end2), values: Float64Array.from(values.subarray(entry2, end2)) };
      entry2 = end2;
      return found;
    };
    const answers2 = outputs.length ? outputs.reduce((sum2, { labels }) => sum2 + (labels ? labels.length : 1), 0) : vocabulary.length;
    const tokens = next(width, vocabulary.length);
    const place = next(width, features.length);
    const table2 = positions2 === null ? null : next(width, positions2);
    const unembedding = next(answers2, width);
    const unembeddingBias = next(answers2, 1);
    const norm = (given) => given && { gain: next(width, 1), bias: next(width, 1), epsilon: given.epsilon };
    const norms = spec.layers.map((layer) => ({ attentionNorm: norm(layer.attention_norm), feedForwardNorm: norm(layer.feed_forward_norm) }));
    const last = norm(spec.norm);
    const layers = spec.layers.map(({ name, heads, hidden }, n) => {
      const own = heads.map(({ name: name2, mask, soft, inverse, keys: keys2, values: values2 }) => {
        const [query, key, value] = [next(keys2, width), next(keys2, width), next(values2, width)];
        return { name: name2, mask, soft, inverse, query, key, value, output: next(width, values2) };
      });
      const feedForward = hidden === null ? null : { input: next(hidden, width), inputBias: next(hidden, 1), output: next(width, hidden), outputBias: next(width, 1) };
      return { name, heads: own, feedForward, ...norms[n] };
    });
    const loops = spec.loops.map(({ first, last: last2, times: times4, until }) => ({ first, last: last2, times: times4, until: until ? next(1, width) : null }));
    const names = namesOf(aboutOf(spec, buffers));
    const { bos, stop } = spec;
    return { width, vocabulary, bos, stop, features, expressions, positions: positions2, outputs, layers, loops, norm: last, tokens, place, table: table2, unembedding, unembeddingBias, names };
  }
  function aboutOf(spec, buffers) {
    return JSON.parse(textAt(buffers, spec.about));
  }
  function namesOf({ layout, layers }) {
    return {
      directions: layout.flatMap(({ name, labels }) => labels?.map((label2) => `${name}[${label2}]`) ?? [name]),
      units: layers.map(({ feed_forward: part }) => part?.units ?? [])
    };
  }
  function isSoft({ layers }) {
    return layers.some(({ heads }) => heads.some(({ soft }) => soft));
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
      const mean2 = sum2 / x.length;
      for (let n = 0; n < x.length; n++) centred[n] = x[n] - mean2;
      let squares = centred[0] * centred[0];
      for (let n = 1; n < x.length; n++) squares += centred[n] * centred[n];
      const root2 = Math.sqrt(squares / x.length + this.epsilon);
      const here = `${this.where}, position ${thousands(position)}`;
      if (root2 === 0) throw new Refused(`${here}: its variance and its epsilon are 0, so that it divides by 0: use an epsilon above 0`);
      if (!(root2 < Infinity)) throw new Refused(`${here}: the variance is too large for float64: use smaller weights`);
      for (let n = 0; n < x.length; n++) centred[n] = this.gain[n] * (centred[n] / root2) + this.bias[n];
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
  var OPERATORS = {
    "+": ([a, b], [c, d]) => [a * d + c * b, b * d],
    "-": ([a, b], [c, d]) => [a * d - c * b, b * d],
    "*": ([a, b], [c, d]) => [a * c, b * d],
    "/": ([a, b], [c, d]) => [a * d * Math.sign(c), b * Math.abs(c)],
    "%": ([a], [c]) => [c === 0 ? a : (a % c + c) % c, 1],
    // of whole numbers; with the sign of c
    "=": (left, right) => truth(difference(left, right) === 0),
    "!=": (left, right) => truth(difference(left, right) !== 0),
    "<": (left, right) => truth(difference(left, right) < 0),
    "<=": (left, right) => truth(difference(left, right) <= 0),
    ">": (left, right) => truth(difference(left, right) > 0),
    ">=": (left, right) => truth(difference(left, right) >= 0),
    "&": ([a], [c]) => truth(a !== 0 && c !== 0),
    "|": ([a], [c]) => truth(a !== 0 || c !== 0)
  };
  function feature(name, expressions) {
    if (Object.hasOwn(expressions, name)) {
      const { steps } = expressions[name];
      return (i, n) => computed(steps, i, n);
    }
    if (Object.hasOwn(FEATURES, name)) return FEATURES[name];
    const found = MODULO.exec(name);
    if (!found) throw new Error(`unknown position feature '${name}'`);
    const [modulus, remainder] = [Number(found[1]), Number(found[2])];
    return (i) => Number(i % modulus === remainder);
  }
  function largest(name, i, expressions) {
    if (Object.hasOwn(expressions, name)) return expressions[name].largest;
    return name === "i" || name === "i^2" ? feature(name, expressions)(i, i + 1) : 1;
  }
  function ofLength(name, expressions) {
    return Object.hasOwn(expressions, name) && expressions[name].steps.includes("n");
  }
  function computed(steps, i, n) {
    const stack = [];
    for (const step of steps) {
      if (step === "i" || step === "n") stack.push([step === "i" ? i : n, 1]);
      else if (typeof step === "number") stack.push([step, 1]);
      else {
        const right = stack.pop();
        if (step === "!") stack.push(truth(right[0] === 0));
        else if (typeof step === "string") stack.push(OPERATORS[step](stack.pop(), right));
        else if (step[0] === "^") stack.push([right[0] ** step[1], right[1] ** step[1]]);
        else stack.push(truth(step.slice(1).some((value) => right[0] === value * right[1])));
      }
    }
    const [above, below] = stack.pop();
    return above / below + 0;
  }
  function difference([a, b], [c, d]) {
    return a * d - c * b;
  }
  function truth(holds) {
    return [Number(holds), 1];
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
    x = sum(x, times2(decoder.place, Float64Array.from(decoder.features, (name) => largest(name, MOST_POSITIONS, decoder.expressions))));
    if (decoder.table) raise(decoder.table);
    let fine = small(x);
    for (const { heads, feedForward, attentionNorm, feedForwardNorm } of decoder.layers) {
      const [attends, reads2] = normed(attentionNorm, x);
      const sizes = heads.map((head) => ofHead(head, reads2, largest(head.inverse, MOST_POSITIONS, decoder.expressions)));
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
    const [answers2, reads] = normed(decoder.norm, x);
    return fine && answers2 && small(sum(times2(decoder.unembedding, reads), column2(decoder.unembeddingBias)));
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
  function ofHead(head, x, inverse) {
    const [query, key, value] = [times2(head.query, x), times2(head.key, x), times2(head.value, x)];
    const asked = new Set(head.query.rows);
    let score = 0;
    let fine = true;
    for (const c of new Set(head.key.rows)) {
      if (!asked.has(c)) continue;
      score += query[c] * key[c] * Math.max(1, inverse);
      fine = fine && query[c] < SAFE && key[c] < SAFE;
    }
    return [fine && score < SAFE && small(value.map((each) => each * MOST_POSITIONS)), times2(head.output, value)];
  }
  function ofFeedForward(layer, x) {
    const hidden = sum(times2(layer.input, x), column2(layer.inputBias));
    return [small(hidden), sum(times2(layer.output, hidden), column2(layer.outputBias))];
  }
  function times2(matrix, x) {
    const found = new Float64Array(matrix.height);
    matrix.rows.forEach((row, n) => found[row] += Math.abs(matrix.values[n]) * x[matrix.columns[n]]);
    return found;
  }
  function column2(matrix) {
    return times2(matrix, Float64Array.of(1));
  }
  function sum(a, b) {
    return a.map((value, n) => value + b[n]);
  }
  function small(numbers) {
    return numbers.every((number3) => number3 < SAFE);
  }

  // src/live/dense.ts
  var ONE = Float64Array.of(1);
  var Weights = class {
    constructor(decoder) {
      this.decoder = decoder;
      this.careful = !everythingIsFinite(decoder);
      this.features = decoder.features.map((name) => feature(name, decoder.expressions));
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
    embedded(token2, position, length) {
      const x = new Float64Array(this.decoder.width);
      this.tokens.addTo(x, token2);
      this.place.addTo(x, Float64Array.from(this.features, (at) => at(position, length)));
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
      const looks4 = heads.map((head) => head.look(reads, position, length));
      if (watch) looks4.forEach((look, k) => watch.head(n, k, look));
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
        heads: heads.map((head) => new AttentionHead(head, where, this.careful, head.inverse === "1" ? null : feature(head.inverse, this.decoder.expressions))),
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
    check(x, after2, position) {
      const wrong = this.careful ? firstInfinite(x) : -1;
      if (wrong < 0) return;
      const direction = this.decoder.names.directions[wrong] ?? String(wrong);
      const where = after2 < 0 ? "embedding" : layerCalled(this.decoder, after2 + 1);
      throw tooLarge(where, position, `direction ${quoted(direction)} of the stream`);
    }
    checkHidden(n, { writes }, hidden, position) {
      const unit = writes.find((u) => !Number.isFinite(hidden[u]));
      if (unit === void 0) return;
      const name = this.decoder.names.units[n]?.[unit] ?? String(unit);
      throw tooLarge(layerCalled(this.decoder, n + 1), position, `the sum of hidden unit ${quoted(name)}`);
    }
  };
  var Dense = class extends Weights {
    position = 0;
    /** (width,) the stream at the last position, after the last layer */
    residual = new Float64Array(0);
    /** (answers,) the logits at the last position */
    logits = new Float64Array(0);
    /** Throws `Refused` if a head looks ahead, or a number depends on the length. */
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
      const x = this.embedded(token2, position, position + 1);
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
      const streams = Array.from(tokens, (token2, i) => this.embedded(token2, i, tokens.length));
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
    repeat({ first, last, times: times4, until }, streams, pass) {
      const row = until && new LinearMap(until);
      const ended = (x) => {
        const found = new Float64Array(1);
        row.addTo(found, x);
        return found[0] >= 0.5;
      };
      for (let number3 = 1; number3 <= (times4 ?? MOST_PASSES2); number3++) {
        pass();
        if (row && streams.every(ended)) return;
      }
      if (times4 === null) throw new Refused(`the loop over ${first === last ? `layer ${first}` : `layers ${first} to ${last}`} until its condition holds everywhere: it has not ended after ${thousands(MOST_PASSES2)} passes: state how often it is run at most, 'repeat 200 until …'`);
    }
  };
  var MOST_PASSES2 = 1e4;
  function wholeRun(decoder, tokens, watches = /* @__PURE__ */ new Map()) {
    return new Whole(decoder).run(tokens, watches);
  }
  function argmax(numbers) {
    let found = 0;
    for (let n = 1; n < numbers.length; n++) if (numbers[n] > numbers[found]) found = n;
    return found;
  }
  function refuseAhead(decoder) {
    const named = decoder.features.find((name) => ofLength(name, decoder.expressions));
    const what = named === void 0 ? "the temperature depends" : `the position feature ${quoted(named)} depends`;
    const inverses = decoder.layers.flatMap(({ heads }) => heads.map(({ inverse }) => inverse));
    if (named !== void 0 || inverses.some((inverse) => ofLength(inverse, decoder.expressions))) {
      throw new Refused(`${what} on the length, so these weights cannot run position by position: run the whole sequence`);
    }
    if (decoder.loops.length) throw new Refused("these weights run layers again, so they cannot run position by position: run the whole sequence at once");
    const head = decoder.layers.flatMap(({ heads }) => heads).find(({ mask }) => mask !== "future");
    if (!head) return;
    throw new Refused(`head ${quoted(head.name)} has the mask ${quoted(head.mask)} and looks ahead, so it cannot run position by position: run the whole sequence at once`);
  }

  // src/live/python.ts
  function plainNumber(value) {
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return String(value + 0);
    return repr(value);
  }
  function repr(value) {
    return special(value) ?? pointed(value.toExponential(), 16);
  }
  function sixDigits(value) {
    return general(value, 6);
  }
  function general(value, digits2) {
    return special(value) ?? pointed(toEven(value, digits2), digits2, true);
  }
  function toEven(value, digits2) {
    const [exact, power2] = value.toExponential(100).split("e");
    const all = exact.replace(/[-.]/g, "");
    const tie = all[digits2] === "5" && /^0*$/.test(all.slice(digits2 + 1));
    if (!tie || Number(all[digits2 - 1]) % 2) return value.toExponential(digits2 - 1);
    const kept = all.slice(0, digits2);
    return `${value < 0 ? "-" : ""}${kept[0]}${kept.slice(1) ? `.${kept.slice(1)}` : ""}e${power2}`;
  }
  function special(value) {
    if (Object.is(value, -0)) return "-0";
    if (Number.isNaN(value)) return "nan";
    return Number.isFinite(value) ? null : value > 0 ? "inf" : "-inf";
  }
  function pointed(text, most, short = false) {
    const [mantissa, power2] = text.split("e");
    const exponent = Number(power2);
    const sign2 = mantissa.startsWith("-") ? "-" : "";
    let digits2 = mantissa.replace(/[-.]/g, "").replace(/0+$/, "") || "0";
    if (exponent < -4 || exponent >= most) {
      const fraction2 = digits2.slice(1) ? `.${digits2.slice(1)}` : "";
      return `${sign2}${digits2[0]}${fraction2}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    if (exponent < 0) return `${sign2}0.${"0".repeat(-exponent - 1)}${digits2}`;
    digits2 = digits2.padEnd(exponent + 1, "0");
    const rest = digits2.slice(exponent + 1);
    return `${sign2}${digits2.slice(0, exponent + 1)}${rest ? `.${rest}` : short ? "" : ".0"}`;
  }

  // src/live/readout.ts
  var NEAR = 0.25;
  function answersOf(decoder, logits) {
    const soft = isSoft(decoder);
    let start2 = 0;
    return decoder.outputs.map(({ labels }) => {
      let values = logits.slice(start2, start2 += labels ? labels.length : 1);
      const whole3 = values.map(even);
      if (soft && values.every((value, k) => Math.abs(value - whole3[k]) <= NEAR)) values = whole3;
      if (!labels) return values[0] + 0;
      const hot = labels.filter((_, k) => values[k]);
      return hot.length === 1 && values.includes(1) ? hot[0] : combination(labels, values);
    });
  }
  function even(value) {
    const below = Math.floor(value);
    const rest = value - below;
    return rest < 0.5 || rest === 0.5 && below % 2 === 0 ? below : below + 1;
  }
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
    bits({ bits: bits3, names }, x) {
      const values = bits3.map((n) => x[this.starts[n]]);
      const digits2 = values.every((value) => value === 0 || value === 1) ? values.map((value) => String(value + 0)).join("") : "";
      if (names[digits2] || digits2) return names[digits2] ?? digits2;
      return combination(bits3.map((n) => this.subspaces[n].name), values);
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
    const terms2 = Array.from(values).flatMap((value, k) => value ? [value === 1 ? labels[k] : `${sixDigits(value)}·${labels[k]}`] : []);
    return `⟨${terms2.slice(0, 4).join(" + ")}${terms2.length > 4 ? " + …" : ""}⟩`;
  }

  // src/broken/rational.ts
  var ZERO = { above: 0n, below: 1n };
  function exactly2(value) {
    let below = 1n;
    while (!Number.isInteger(value)) {
      value *= 2;
      below *= 2n;
    }
    return { above: BigInt(value), below };
  }
  function meant(value, most) {
    for (let below = 1; below <= most; below++) {
      const above = Math.round(value * below);
      if (above / below === value) return { above: BigInt(above), below: BigInt(below) };
    }
    return exactly2(value);
  }
  function plus2(a, b) {
    if (a.below === b.below) return { above: a.above + b.above, below: a.below };
    return { above: a.above * b.below + b.above * a.below, below: a.below * b.below };
  }
  function times3(a, b) {
    return { above: a.above * b.above, below: a.below * b.below };
  }
  function minus(a, b) {
    return plus2(a, { above: -b.above, below: b.below });
  }
  function less(a, b) {
    return a.above * b.below < b.above * a.below;
  }
  function nearest2({ above, below }) {
    const excess = Math.max(0, Math.min(bits2(above), bits2(below)) - 900);
    return Number(above >> BigInt(excess)) / Number(below >> BigInt(excess));
  }
  function bits2(number3) {
    return 4 * (number3 < 0n ? -number3 : number3).toString(16).length;
  }

  // src/broken/cause.ts
  var MOST_PLACES = 512;
  var SLACK = 8 * Number.EPSILON;
  var Observation = class {
    /** length: of the whole sequence, where it is run at once, otherwise of what there is so far. */
    constructor(decoder, position, length) {
      this.decoder = decoder;
      this.position = position;
      this.length = length;
    }
    decoder;
    position;
    length;
    stages = [];
    looks = /* @__PURE__ */ new Map();
    passes = /* @__PURE__ */ new Map();
    stage(layer, part, x) {
      const key = `${layer} ${part}`;
      const pass = this.passes.get(key) ?? 0;
      this.passes.set(key, pass + 1);
      this.stages.push({ layer, part, pass, x: x.slice() });
    }
    head(layer, head, look) {
      const [start2, end2] = inSight(this.decoder.layers[layer].heads[head].mask, this.position, this.length);
      const found = look ? { scores: look.scores.slice(), start: start2, attended: [...look.attended] } : { scores: new Float64Array(end2 - start2), start: start2, attended: Array.from({ length: end2 - start2 }, (_, j) => start2 + j) };
      this.looks.set(`${layer} ${head} ${this.passes.get(`${layer} attention`) ?? 0}`, found);
    }
    /** Where a head looked, in a pass of its loop. */
    look(head, { layer, made }) {
      return this.looks.get(`${layer} ${head} ${(made ?? 1) - 1}`);
    }
  };
  var Put = class {
    constructor(at, shares2, inner) {
      this.at = at;
      this.shares = shares2;
      this.inner = inner;
    }
    at;
    shares;
    inner;
    kept = 0;
    stages = 0;
    stage(layer, part, x) {
      const { at, shares: shares2 } = this;
      const here = this.stages++;
      if (here === at.stage) x[at.h] = shares2.h;
      if (here === at.before + 1) x[at.m] = this.kept;
      this.inner?.stage(layer, part, x);
      if (here !== at.before) return;
      [this.kept, x[at.m]] = [x[at.m], shares2.moved];
    }
    head(layer, head, look) {
      this.inner?.head(layer, head, look);
    }
  };
  function* righted(right, about, { since, moves }, { tokens, bump, cell }, watches = /* @__PURE__ */ new Map()) {
    const session = new Dense(right);
    const starts = startsOf(about.layout);
    for (let i = 0; i < tokens.length; i++) {
      let watch = watches.get(i);
      if (moves && bump(i) !== null) {
        const at = { h: starts[moves.h], m: starts[moves.m], stage: since[moves.h], before: 2 * moves.layer };
        watch = new Put(at, { h: cell(i) / (i + 1), moved: (cell(i) - cell(i - 1)) / (i + 1) }, watch);
      }
      session.feed(tokens[i], watch);
      yield session;
    }
  }
  function causeOf(broken, right, about, claims, facts) {
    return new Search(broken, right, about, claims, facts).cause(facts.tokens.length - 1);
  }
  function causeInWhole(broken, right, about, claims, facts, position) {
    return new WholeSearch(broken, right, about, claims, facts).first(position);
  }
  var Search = class {
    constructor(broken, right, about, claims, facts) {
      this.broken = broken;
      this.right = right;
      this.about = about;
      this.claims = claims;
      this.facts = facts;
      this.starts = startsOf(about.layout);
    }
    broken;
    right;
    about;
    claims;
    facts;
    starts;
    /** What there is at some of the positions with the changed and with the unchanged weights. */
    observed(places) {
      const [seen, due] = [this.broken, this.right].map((decoder) => new Map(places.map((i) => [i, new Observation(decoder, i, i + 1)])));
      const tokens = this.facts.tokens.slice(0, Math.max(...places) + 1);
      const session = new Dense(this.broken);
      tokens.forEach((token2, i) => session.feed(token2, seen.get(i)));
      for (const _ of righted(this.right, this.about, this.claims, { ...this.facts, tokens }, due)) ;
      return [seen, due];
    }
    /** The first wrong value at a position, or its cause at an earlier one; before: the number of the stage to stop at. */
    cause(position, before = Infinity) {
      const [seen, due] = this.observed([position]).map((found) => found.get(position));
      for (const [n, { layer, part }] of seen.stages.slice(0, Math.min(before, seen.stages.length)).entries()) {
        const wrong = this.firstWrong(position, n, seen, due);
        if (wrong !== null) return this.told(position, { n, layer, part, made: null }, wrong, seen, due);
      }
      return null;
    }
    /** The first subspace whose value after stage n is wrong; null if there is none. share: what the smallest share of a mean is. */
    firstWrong(i, n, seen, due, share = 1 / (i + 1)) {
      const [found, wanted] = [seen.stages[n].x, due.stages[n].x];
      for (let s = 0; s < this.about.layout.length; s++)
        for (let k = this.starts[s]; k < this.starts[s + 1]; k++) if (!(Math.abs(found[k] - wanted[k]) <= SLACK * Math.max(Math.abs(wanted[k]), share))) return s;
      return null;
    }
    told(i, stage, s, seen, due) {
      const { n, layer, part, made } = stage;
      const own = part === "attention" ? this.lookOf(stage, s, seen, due) : null;
      const root2 = own && this.root(i, layer, own);
      if (root2) return root2;
      const holds = 2 * layer + (part === "attention" ? 1 : 2) >= this.claims.since[s];
      const expected = holds ? this.words(s, this.part(due.stages[n].x, s)) : "0 (nothing is written there yet)";
      const where = layer < 0 ? "embedding" : `layer ${layer + 1} (${this.about.layers[layer].name}), ${made === null ? "" : `pass ${made}, `}${part.replace("_", "-")}`;
      const lines = [`${where} at position ${i}: ${this.about.layout[s].name} should be ${expected}, is ${this.words(s, this.part(seen.stages[n].x, s))}`];
      if (own && differ(own.attended, own.expected))
        lines.push(`head ${quoted(own.head.name)} attended to ${positionsText(own.attended)} with score ${general(own.score + 0, 17)}, should attend to ${positionsText(own.expected)} with score ${general(own.due + 0, 17)}`);
      lines.push(this.why(i, stage, s, own));
      const said = this.facts.about(i);
      if (said !== null) lines.push(said);
      return lines.map(visible);
    }
    /** Of the heads that write into a subspace, and of which it is known where they have to look, where one looked: the last that went astray, otherwise the first. */
    lookOf(stage, s, seen, due) {
      let found = null;
      this.broken.layers[stage.layer].heads.forEach((head, k) => {
        if (!this.claims.known[stage.layer][k] || !head.output.rows.some((row) => row >= this.starts[s] && row < this.starts[s + 1])) return;
        const [{ scores, start: start2, attended }, { attended: expected }] = [seen.look(k, stage), due.look(k, stage)];
        const look = { head, attended, expected, score: scores[attended[0] - start2], due: scores[expected[0] - start2] ?? -Infinity };
        if (!found || differ(attended, expected)) found = look;
      });
      return found;
    }
    /** The first wrong value at the attended positions before this layer, if there is one. */
    root(i, layer, { attended, expected }) {
      const places = [.../* @__PURE__ */ new Set([...attended, ...expected])].filter((j) => j !== i).sort((a, b) => a - b);
      if (!places.length || places.length > MOST_PLACES) return null;
      const [seen, due] = this.observed(places);
      const wrong = places.find((j) => this.firstWrong(j, 2 * layer, seen.get(j), due.get(j)) !== null);
      return wrong === void 0 ? null : this.cause(wrong, 2 * layer + 1);
    }
    why(i, stage, s, own) {
      if (stage.layer < 0) return "the embedding weights are wrong";
      const { attentionNorm, feedForwardNorm } = this.broken.layers[stage.layer];
      if (!own) return `its inputs are right: the ${stage.part.replace("_", "-")} weights of this layer are wrong${orNorm(stage.part === "feed_forward" && feedForwardNorm !== null)}`;
      if (differ(own.attended, own.expected)) return this.whyElsewhere(i, stage, own);
      const remark = s === this.claims.moves?.h ? this.facts.bump(i) : null;
      return remark ?? `the head looked where it should: its value or output weights are wrong${orNorm(attentionNorm !== null)}`;
    }
    /** Distinguish rounding from wrong weights: do these query and key weights look right in exact arithmetic? */
    whyElsewhere(i, { n, layer }, { head, attended, expected, score, due: dueScore }) {
      if (this.broken.layers[layer].attentionNorm) return "it reads a layer norm, which is not computed in exact arithmetic: its weights are wrong, or it is rounding";
      const astray = attended.filter((j) => !expected.includes(j));
      const [, streams] = this.observed([.../* @__PURE__ */ new Set([i, ...expected, ...astray])]);
      const exact = (j) => Array.from(streams.get(j).stages[n - 1].x, (value) => meant(value, this.facts.tokens.length));
      const asked = product(head.query, exact(i));
      const best2 = (among) => among.map((j) => dot(asked, product(head.key, exact(j)))).reduce((most, each) => less(most, each) ? each : most);
      const due = best2(expected);
      const got = astray.length ? best2(astray) : due;
      if (!less(got, due)) return "in exact arithmetic this head looks there as well: its query or key weights are wrong";
      const top = Math.max(Math.abs(score), Math.abs(dueScore));
      return `rounding: the true scores differ by ${general(nearest2(minus(due, got)), 3)}, float64 numbers as large as these are ${general(spacing(top), 3)} apart: use a wider dtype, or the exact engine`;
    }
    part(x, s) {
      return [...x.subarray(this.starts[s], this.starts[s + 1])];
    }
    words(s, values) {
      const { labels } = this.about.layout[s];
      if (!labels) return general(values[0], 9);
      if (!values.some(Boolean)) return "⊥ (0)";
      const text = combination(labels, values);
      return values.filter(Boolean).length === 1 && values.includes(1) ? text.slice(1, -1) : text;
    }
  };
  var WholeSearch = class extends Search {
    whole = null;
    observed() {
      const { tokens } = this.facts;
      this.whole ??= [this.broken, this.right].map((decoder) => {
        const found = new Map(tokens.map((_, i) => [i, new Observation(decoder, i, tokens.length)]));
        wholeRun(decoder, tokens, found);
        return found;
      });
      return this.whole;
    }
    /** Nothing: everything before has been looked at. */
    root() {
      return null;
    }
    /** The first wrong value anywhere; of the positions with one after the same stage, `position` comes first. */
    first(position) {
      const [seen, due] = this.observed();
      const places = [position, ...Array.from(this.facts.tokens.keys()).filter((i) => i !== position)];
      for (const stage of this.stages(seen.get(position), due.get(position), position)) {
        if (Array.isArray(stage)) return stage;
        for (const i of places) {
          const wrong = this.firstWrong(i, stage.n, seen.get(i), due.get(i), 1 / places.length);
          if (wrong !== null) return this.told(i, stage, wrong, seen.get(i), due.get(i));
        }
      }
      return null;
    }
    /** The stages in order, or the cause where a loop ends in the wrong place. Left out are stages without a head in later passes. */
    *stages(seen, due, position) {
      const { loops, layers } = this.broken;
      const loopOf = (layer) => loops.findIndex(({ first, last }) => first <= layer + 1 && layer < last);
      const passes = loops.map((_, k) => Math.max(0, ...due.stages.filter(({ layer }) => loopOf(layer) === k).map(({ pass }) => pass + 1)));
      let [made, before] = [0, -1];
      const wrong = (k, ended2) => {
        if (k < 0 || !this.claims.loops[k] || !(made > passes[k] || ended2 && made !== passes[k])) return null;
        const { last } = loops[k];
        const more = made > passes[k] ? " or more" : "";
        return [
          `layer ${last} (${this.about.layers[last - 1].name}), feed-forward at position ${position}: the passes of loop ${k + 1} should be ${passes[k]}, is ${made}${more}`,
          "the stream is right up to there: the loop's condition, or its number of passes, is wrong in the weights"
        ].map(visible);
      };
      for (const [n, { layer, part, pass }] of seen.stages.entries()) {
        const here = loopOf(layer);
        const ended2 = here !== before && wrong(before, true);
        if (ended2) return yield ended2;
        [before, made] = [here, pass + 1];
        const late = wrong(here, false);
        if (late) return yield late;
        if (here < 0) yield { n, layer, part, made: null };
        else if (part === "feed_forward" || !pass || layers[layer].heads.length) yield { n, layer, part, made };
      }
      const ended = wrong(before, true);
      if (ended) yield ended;
    }
  };
  function unembeddingCause(broken, position, output, expected, found, about) {
    const lines = [
      `unembedding at position ${position}: ${output ? `the output ${output}` : "logits"} should be ${expected}, is ${found}`,
      `the residual stream is right after every layer: the unembedding weights are wrong${orNorm(broken.norm !== null)}`
    ];
    return (about === null ? lines : [...lines, about]).map(visible);
  }
  var orNorm = (normed3) => normed3 ? ", or the layer norm that they read" : "";
  function differ(a, b) {
    return a.length !== b.length || a.some((each, n) => each !== b[n]);
  }
  function positionsText(positions2) {
    if (positions2.length === 1) return `position ${positions2[0]}`;
    if (positions2.length > 6) return `${positions2.length} positions (${positions2[0]} … ${positions2.at(-1)})`;
    return `positions ${positions2.join(", ")}`;
  }
  function product({ rows, columns, values }, x) {
    const found = /* @__PURE__ */ new Map();
    rows.forEach((row, n) => found.set(row, plus2(found.get(row) ?? ZERO, times3(exactly2(values[n]), x[columns[n]]))));
    return found;
  }
  function dot(a, b) {
    return [...b].reduce((sum2, [component, value]) => plus2(sum2, times3(a.get(component) ?? ZERO, value)), ZERO);
  }
  function spacing(value) {
    if (!Number.isFinite(value)) return NaN;
    const bits3 = new BigInt64Array(new Float64Array([value]).buffer);
    bits3[0] += 1n;
    return new Float64Array(bits3.buffer)[0] - value;
  }

  // src/live/generate.ts
  function prompted(decoder, prompt) {
    const { vocabulary, bos, positions: positions2, outputs } = decoder;
    const numbers = new Map(vocabulary.map((token2, n) => [token2, n]));
    const found = prompt.map((token2, i) => {
      const number3 = numbers.get(token2);
      if (number3 !== void 0) return number3;
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
    /** heads: the number of heads of the layer of each step; mostSharers: the most positions sharing a head's weight that are kept. */
    constructor(subspaces, heads, steps, mostSharers = MOST_SHARERS) {
      this.subspaces = subspaces;
      this.steps = steps;
      this.mostSharers = mostSharers;
      this.starts = startsOf(subspaces);
      this.before = new Float64Array(this.starts.at(-1));
      this.standing = subspaces.map(() => ({ value: 0, other: null }));
      this.written = Array.from({ length: 1 + 2 * heads.length }, () => /* @__PURE__ */ new Map());
      this.seen = heads.map((many) => Array.from({ length: many }, () => ({ winner: new Growing(), count: new Growing(), score: new Growing(), runner: new Growing(), runner_score: new Growing(), sharers: /* @__PURE__ */ new Map(), weights: /* @__PURE__ */ new Map() })));
    }
    subspaces;
    steps;
    mostSharers;
    /** By step and head: see `RunSpec.steps`. */
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
    /** step: its index, which is the layer's where no loop runs it again; start: the position of the first score. */
    head(step, head, look, start2 = 0) {
      const [seen, here] = [this.seen[step][head], this.position];
      const count2 = look ? look.attended.length : here + 1;
      const first = look ? look.attended[0] : 0;
      const runner = look ? look.runner : -1;
      seen.winner.set(here, first);
      seen.count.set(here, count2);
      seen.score.set(here, look ? look.scores[first - start2] : 0);
      seen.runner.set(here, runner);
      seen.runner_score.set(here, runner < 0 ? 0 : look.scores[runner - start2]);
      if (look?.weights) seen.weights.set(here, look.weights);
      if (look && runner >= 0 && count2 > 1) seen.sharers.set(here, Array.from(look.attended.subarray(0, this.mostSharers)));
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
  function recordedWhole(decoder, given, subspaces) {
    const shown2 = given.map(() => ({ stages: [], looks: [] }));
    const watch = ({ stages, looks: looks4 }) => ({
      stage: (layer, part, x) => stages.push({ layer, part, x: x.slice() }),
      head: (_layer, _head, look) => looks4.push(look && { ...look, scores: look.scores.slice() })
    });
    const passed = wholeRun(decoder, given, new Map(shown2.map((each, i) => [i, watch(each)])));
    const passes = decoder.layers.map(() => 0);
    const steps = shown2[0].stages.flatMap(({ layer, part }) => {
      if (part !== "attention") return [];
      const looped = decoder.loops.some(({ first, last }) => first <= layer + 1 && layer < last);
      return [[layer, looped ? ++passes[layer] : 0]];
    });
    const heads = steps.map(([layer]) => decoder.layers[layer].heads);
    const recorder = new Recorder(subspaces, heads.map(({ length }) => length), steps, given.length);
    shown2.forEach(({ stages, looks: looks4 }, i) => {
      for (const { layer, part, x } of stages) recorder.stage(layer, part, x);
      const each = looks4.values();
      heads.forEach((those, step) => those.forEach(({ mask }, k) => recorder.head(step, k, each.next().value, inSight(mask, i, given.length)[0])));
    });
    return { passed, recorder };
  }

  // src/live/run.ts
  var STOP2 = "stop";
  var UNSEARCHED = "not searched for in this page; tm2tfr check names it.";
  var AFTER = 50;
  var OUTCOMES = { ACC: "accept", REJ: "reject", HALT: "halt" };
  function run(task, progress) {
    const { decoder, columns, tape, truth: truth2, word, ends: ends2, search } = task;
    const labels = decoder.outputs.length > 0;
    const prompt = [...ends2?.before ?? truth2?.lead ?? [], ...word, ...ends2?.after ?? []];
    const given = prompted(decoder, prompt);
    const { found, recorder } = labels ? labelled(task, given) : generated(task, given, prompt.length);
    const [rows, expected] = [[], []];
    let compared2 = 0;
    let differs = null;
    let cut = false;
    const next = () => {
      try {
        const row = found.next();
        return row.done ? null : row.value;
      } catch (error) {
        if (differs && error instanceof Refused) return null;
        throw error;
      }
    };
    for (; ; ) {
      const want = truth2?.rows.next();
      if (want?.done && !differs) break;
      if (want?.done && task.changed && rows.length > differs.position + AFTER) {
        cut = true;
        break;
      }
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
    const ending2 = truth2 && (!differs || !differs.row) ? truth2.ending(stop, decoder.positions) : null;
    let divergence = null;
    if (ending2) divergence = { position: rows.length - 1, column: STOP2, ...ending2, cause: [UNSEARCHED] };
    else if (differs) {
      divergence = difference2(columns, differs);
      if (search && truth2) divergence.cause = searched({ ...search, broken: decoder, columns, reader: new Readout(task.readout, task.subspaces), truth: truth2, expected: labels ? expected : expected.slice(0, differs.position + 1), given, position: differs.position, row: differs.row });
    }
    const said = rows.length > prompt.length ? String(rows.at(-1).at(-1)) : "";
    const known = tape ? OUTCOMES[said] : stop.includes(said) ? said : void 0;
    const answer = known ?? (rows.length === decoder.positions && !stop.length ? "end" : "limit");
    const T = labels ? 0 : answer === "limit" ? null : rows.length - prompt.length + (decoder.bos !== null ? -1 : 1);
    return { rows, expected, compared: compared2, divergence, answer: labels ? "end" : answer, T, stopped: cut && answer === "limit", prompt: prompt.length, lead: tape ? described2(prompt) : 0, recorder };
  }
  function generated({ decoder, readout, subspaces, maxSteps }, given, prompt) {
    const recorder = new Recorder(subspaces, decoder.layers.map(({ heads }) => heads.length), decoder.layers.map((_, n) => [n, 0]));
    const most = maxSteps === null ? Infinity : prompt + maxSteps + (decoder.bos !== null ? 2 : -1);
    const reader = new Readout(readout, subspaces);
    const rows = function* () {
      for (const { fed, answer, residual } of generate(decoder, given, most, recorder)) yield reader.cells(decoder.vocabulary[fed], decoder.vocabulary[answer], residual);
    };
    return { found: rows(), recorder };
  }
  function labelled({ decoder, subspaces }, given) {
    const { passed, recorder } = recordedWhole(decoder, given, subspaces);
    return { found: passed.map(({ logits }, i) => [decoder.vocabulary[given[i]], ...answersOf(decoder, logits)]).values(), recorder };
  }
  function difference2(columns, { want, row, position }) {
    const found = row ?? want.map(() => null);
    const at = want.findIndex((cell, n2) => !agrees(cell, found[n2]));
    const n = at < 0 ? want.length - 1 : at;
    const { name, signed } = columns[n];
    return { position, column: name, expected: written(want[n], signed), found: written(found[n], signed), cause: [UNSEARCHED] };
  }
  function searched({ broken, right, about, claims, columns, reader, truth: truth2, expected, given, position, row }) {
    const labels = right.outputs.length > 0;
    const names = columns.map(({ name }) => name);
    const numbers = new Map(right.vocabulary.map((token2, n) => [token2, n]));
    const tokens = labels ? given : expected.map((cells2) => numbers.get(String(cells2[0])));
    const { about: said, bump } = truth2.facts(expected, names);
    const h = names.indexOf("h");
    try {
      const facts = { tokens, about: said, bump, cell: (i2) => Number(expected[i2][h]) };
      const reads = ({ residual, logits }, i2) => {
        const token2 = right.vocabulary[tokens[i2]];
        return labels ? [token2, ...answersOf(right, logits)] : reader.cells(token2, right.vocabulary[argmax(logits)], residual);
      };
      let i = 0;
      for (const passed of labels ? wholeRun(right, tokens) : righted(right, about, claims, facts)) {
        const cells2 = reads(passed, i);
        if (expected[i].some((cell, n) => !agrees(cell, cells2[n]))) return [`not known: the weights that this page came with go wrong on this input themselves, at position ${i}; for these weights (Save weights), tm2tfr check names the cause`];
        i++;
      }
      const cause = labels ? causeInWhole(broken, right, about, claims, facts, position) : causeOf(broken, right, about, claims, facts);
      if (cause) return cause;
      const want = expected[position];
      const at = row ? want.findIndex((cell, n) => !agrees(cell, row[n])) : -1;
      if (!row || at < (labels ? 1 : want.length - 1)) return [];
      return unembeddingCause(broken, position, labels ? right.outputs[at - 1].name : "", written(want[at], false), written(row[at], false), said(position));
    } catch (error) {
      if (error instanceof Refused) return [`not known: ${error.message}`];
      throw error;
    }
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
  function carriedOut({ runs, word, text, ends: ends2, maxSteps, gates, sequence: sequence2 }, progress) {
    const extra = new Extra();
    let done = 0;
    const made = runs.map(({ spec, decoder, right, about }) => {
      const { columns, subspaces, live, tape } = spec;
      const names = columns.map(({ name }) => name);
      const truth2 = live.reference && truthOf(live.reference, { word, maxSteps, columns: names, gates, sequence: sequence2 });
      const search = live.claims && !isSoft(right) ? { right, about, claims: live.claims } : null;
      const ran = run({ decoder, columns, readout: live.readout, subspaces, tape, truth: truth2, word, ends: ends2, maxSteps, changed: decoder !== right, search }, (positions2) => progress(done + positions2));
      done += ran.rows.length;
      return documented(spec, ran, text === null ? word : [...text], truth2?.result() ?? "", extra);
    });
    return { runs: made, columns: extra.columns };
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
  function ordered(order2, worker, progress) {
    const stop = () => worker.terminate();
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
    worker.postMessage(order2);
    return { finished, stop };
  }
  function weightsOf({ decoder }, buffers) {
    if (decoder.none !== void 0) throw new Error(decoder.none);
    return [decoderOf(decoder, buffers), aboutOf(decoder, buffers)];
  }

  // src/live/rerun.ts
  var Rerun = class {
    /** worker: starts a worker that serves orders. */
    constructor(data, buffers, worker, broken) {
      this.data = data;
      this.buffers = buffers;
      this.worker = worker;
      this.broken = broken;
    }
    data;
    buffers;
    worker;
    broken;
    weights = null;
    running = null;
    /** Why the page cannot run its weights; null if it can. */
    static refusal({ runs }) {
      for (const { decoder, dtype } of runs) {
        if (decoder.none !== void 0) return decoder.none;
        if (dtype !== "float64") return `this run was computed in ${dtype}, and the page computes in float64`;
      }
      return null;
    }
    /** Run the weights on a word, and stop a run that has not finished; text: see `Order`; progress: called with the number of positions done. */
    begin(word, text, maxSteps, progress) {
      const { data, buffers, broken } = this;
      const weights = broken?.current;
      this.stop();
      this.weights ??= data.runs.map((spec) => {
        const [decoder, about] = weightsOf(spec, buffers);
        return { decoder, about };
      });
      const begun = performance.now();
      const order2 = orderOf(data, buffers, this.weights.map((each) => ({ ...each, broken: weights ?? each.decoder })), { word, text, maxSteps });
      const running = this.running = ordered(order2, this.worker(), progress);
      const finished = running.finished.then(({ runs, columns }) => {
        const positions2 = count(runs.reduce((sum2, run2) => sum2 + run2.count, 0), "position");
        const seconds = ((performance.now() - begun) / 1e3).toFixed(2);
        const said = runs.map((run2) => (runs.length > 1 ? `${run2.boundary}: ` : "") + compared(run2)).join("; ");
        if (weights) broken.shows(weights);
        const since = broken?.stale ? " A weight was changed since: run again." : "";
        return { data: { ...data, runs, searched: null }, buffers: (place) => shelved(columns, place) ?? buffers(place), said: `Run in this page: ${positions2} in ${seconds} s; ${said}.${since}` };
      });
      return { finished, stop: () => running.stop() };
    }
    /** Stop a run that has not finished. */
    stop() {
      this.running?.stop();
    }
  };
  function orderOf(data, buffers, weights, input) {
    const { tokens } = data.box;
    const runs = data.runs.map((spec, n) => ({ spec, decoder: weights[n].broken, right: weights[n].decoder, about: weights[n].about }));
    return { runs, ...input, ends: tokens && { before: tokens.before, after: tokens.after }, gates: gatesOf(data, buffers), sequence: data.sequence };
  }
  function compared(run2) {
    const { agrees: agrees2, compared: compared2, reference, divergence, stopped } = run2;
    if (agrees2 === null) return `nothing was compared: ${uncompared(run2)}`;
    const cells2 = `${count(compared2, "cell")} compared with the ${reference}`;
    return agrees2 ? `${cells2}, all agree` : `${cells2}, and it differs at position ${divergence.position}${stopped ? `; ${stoppedAfter(run2)}` : ""}`;
  }
  function gatesOf({ circuit, runs, box }, buffers) {
    if (!circuit || !box.circuit) return null;
    const found = new Circuit(circuit, buffers);
    const nets = Array.from({ length: found.size - circuit.inputs }, (_, n) => circuit.inputs + n);
    return {
      inputs: circuit.inputs,
      gates: nets.map((net) => ({ table: found.table(net), operands: found.operands(net), kind: found.kind(net).replace(/^table /, "") })),
      nets: circuit.nets,
      outputs: circuit.outputs.map(([, net]) => net),
      buses: box.circuit.outputs,
      encoding: box.circuit.encoding,
      names: runs[0].live.readout[runs[0].columns.findIndex(({ name }) => name === "gate")]?.names ?? {}
    };
  }
  function busy({ element, start: start2, stop, bar }, on) {
    const focused = document.activeElement;
    set(start2, { disabled: on });
    set(stop, { disabled: !on });
    bar.hidden = !on;
    set(element, { "aria-busy": on ? "true" : null });
    if (focused === start2 && on) stop.focus();
    if (focused === stop && !on) start2.focus();
  }
  function workerOf(script) {
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(address);
    setTimeout(() => URL.revokeObjectURL(address), 1e4);
    return worker;
  }

  // src/broken/address.ts
  var SET = "set=";
  var parts = () => location.hash.slice(1).split("&").filter(Boolean);
  function changesInAddress() {
    return keptInAddress().map((part) => decoded(part.slice(SET.length)));
  }
  function keptInAddress() {
    return parts().filter((part) => part.startsWith(SET));
  }
  function keepInAddress(changes) {
    const others = parts().filter((part) => !part.startsWith(SET));
    try {
      history.replaceState(null, "", `#${[...others, ...changes.map((text) => SET + encoded(text))].join("&")}`);
    } catch {
    }
  }
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      throw new Refused(`the address says set=${text}, which is not encoded as addresses are: write % as %25`);
    }
  }
  function encoded(text) {
    return encodeURIComponent(text).replace(/%(5B|5D|2C|3D|2F|3A)/gi, decodeURIComponent);
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
  function changed(decoder, changes) {
    const copy = structuredClone(decoder);
    const matrices = matricesOf(copy);
    for (const { path, row, column: column3, value } of changes) put(matrices.get(path), row, column3, value);
    return copy;
  }
  function entry(matrix, row, column3) {
    const n = placeOf(matrix, row, column3);
    return matrix.rows[n] === row && matrix.columns[n] === column3 ? matrix.values[n] : 0;
  }
  function placeOf({ rows, columns }, row, column3) {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = low + high >> 1;
      if (rows[middle] < row || rows[middle] === row && columns[middle] < column3) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  function put(matrix, row, column3, value) {
    const n = placeOf(matrix, row, column3);
    const there = matrix.rows[n] === row && matrix.columns[n] === column3;
    const end2 = n + Number(there);
    const own = value === 0 ? [] : [value];
    const spliced = (array, made, middle) => made([...array.subarray(0, n), ...middle, ...array.subarray(end2)]);
    matrix.values = spliced(matrix.values, (numbers) => Float64Array.from(numbers), own);
    matrix.rows = spliced(matrix.rows, (numbers) => Int32Array.from(numbers), own.length ? [row] : []);
    matrix.columns = spliced(matrix.columns, (numbers) => Int32Array.from(numbers), own.length ? [column3] : []);
  }
  function axesOf(decoder, path) {
    const matrices = matricesOf(decoder);
    const matrix = matrices.get(path);
    if (!matrix) throw new Refused(unknown(path, [...matrices.keys()]));
    const axis = (noun, size, names = []) => ({ noun, size, names });
    const { height, width } = matrix;
    const parts3 = path.split(".");
    const inner = parts3.at(-2) === "feed_forward" ? "hidden unit" : "component";
    const stream = axis("direction", decoder.width, decoder.names.directions);
    const one = axis("column", 1);
    const answers2 = () => axis("answer", height, answered(decoder));
    const outer = {
      token_embedding: () => [stream, axis("token", width, decoder.vocabulary)],
      position_embedding: () => [stream, axis("position feature", width, decoder.features)],
      position_table: () => [stream, axis("position", width)],
      unembedding: () => [answers2(), stream],
      unembedding_bias: () => [answers2(), one]
    };
    const inside = {
      gain: () => [stream, one],
      bias: () => [stream, one],
      until: () => [axis("row", height), stream],
      input_bias: () => [axis(inner, height), one],
      output_bias: () => [stream, one],
      output: () => [stream, axis(inner, width)]
    };
    const known = (parts3.length === 1 ? outer : inside)[parts3.at(-1)];
    return known ? known() : [axis(inner, height), stream];
  }
  var CHANGE = /^\s*([\w.]+)\s*\[(.*)\]\s*=([^=\]]*)$/su;
  var NUMBER = /^[-+]?(?:(\d+)\s*\/\s*(\d+)|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)$/;
  function readChange(decoder, text, layer = 0) {
    const match = CHANGE.exec(text);
    const example = firstChange(decoder, layer);
    if (!match) {
      const write = `write for example ${quoted(example)}`;
      if (/^[^[\]]*@\s*\d+/.test(text)) throw new Refused(`${quoted(text)} sets a variable of a run, which is 'tm2tfr intervene --set', and a weight is changed here: ${write}`);
      throw new Refused(`${quoted(text)} does not say which weight gets which value: ${write}`);
    }
    const value = numberOf(match[3].trim());
    if (value === null) throw new Refused(`${quoted(text)}: ${quoted(match[3].trim())} is not a finite number: write for example -1, 0.5 or 1/2`);
    try {
      const path = pathOf(decoder, match[1], layer);
      const [row, column3] = placesOf(axesOf(decoder, path), match[2]);
      return { path, row, column: column3, value };
    } catch (error) {
      if (error instanceof Refused) throw new Refused(`${quoted(text)}: ${error.message}`);
      throw error;
    }
  }
  function pathOf(decoder, path, layer) {
    if (!layer || path.startsWith("layers.")) return path;
    const known = matricesOf(decoder);
    const own = `layers.${layer}.${path}`;
    const ofHead2 = `layers.${layer}.heads.0.${path}`;
    if (!known.has(own) && decoder.layers[layer - 1].heads.length === 1 && known.has(ofHead2)) return ofHead2;
    return known.has(own) || !known.has(path) ? own : path;
  }
  function numberOf(text) {
    const match = NUMBER.exec(text.replaceAll("−", "-"));
    if (!match) return null;
    const sign2 = match[0].startsWith("-") ? -1 : 1;
    const value = match[2] === void 0 ? Number(match[0]) : sign2 * Number(match[1]) / Number(match[2]);
    return Number.isFinite(value) ? value + 0 : null;
  }
  function placesOf([rows, columns], text) {
    if (rows.size === 1 || columns.size === 1) {
      const short = columns.size === 1;
      try {
        const number3 = read2(short ? rows : columns, text.trim());
        return short ? [number3, 0] : [0, number3];
      } catch (error) {
        if (!text.includes(",")) throw error;
      }
    }
    const halves = halvesOf(text);
    const errors = [];
    for (const [first, second] of halves)
      for (const [row, column3] of [[first, second], [second, first]]) {
        try {
          return [read2(rows, row), read2(columns, column3)];
        } catch (error) {
          errors.push(error);
        }
      }
    if (!errors.length) throw new Refused(`it names one place in brackets: give a ${rows.noun} and a ${columns.noun}, with a comma between`);
    const swap = columns.names.length && !rows.names.length && !/^\d+$/.test(halves[0][0]);
    throw errors[swap ? 1 : 0];
  }
  function read2({ noun, size, names }, text) {
    const named = names.indexOf(text);
    if (named >= 0) return named;
    const most = size > 1 ? `a number from 0 to ${thousands(size - 1)}` : "the number 0";
    if (/^\d+$/.test(text)) {
      const number3 = Number(text);
      if (number3 < size) return number3;
      throw new Refused(`there is no ${noun} ${BigInt(text)}: use ${most}`);
    }
    if (!names.length) throw new Refused(`${quoted(text)} is not a ${noun}: use ${most}`);
    const [close] = near(text, names, 1);
    const meant2 = close === void 0 ? "" : ` (did you mean ${quoted(close)}?)`;
    throw new Refused(`no ${noun} is called ${quoted(visible(text))}${meant2}: use a name that the listing shows, or ${most}`);
  }
  function halvesOf(text) {
    let depth = 0;
    const [outer, inner] = [[], []];
    for (let n = 0; n < text.length; n++) {
      depth += Number("[(".includes(text[n])) - Number("])".includes(text[n]));
      if (text[n] === ",") (depth ? inner : outer).push(n);
    }
    return [...outer, ...inner].map((n) => [text.slice(0, n).trim(), text.slice(n + 1).trim()]);
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
  function placeNames(decoder, { path, row, column: column3 }) {
    const [rows, columns] = axesOf(decoder, path);
    return [rows.names[row] ?? String(row), columns.names[column3] ?? String(column3)];
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
  function firstChange(decoder, layer) {
    const found = [...matricesOf(decoder)].filter(([path2, { values: values2 }]) => values2.length && (!layer || path2.startsWith(`layers.${layer}.`)));
    const chosen = found.find(([path2]) => path2.endsWith("query")) ?? found[0];
    if (!chosen) return "unembedding_bias[0] = 1";
    const [path, { rows, columns, values }] = chosen;
    const change = { path, row: rows[0], column: columns[0], value: -values[0] };
    return `${placeText(decoder, change, layer)} = ${weightText(change.value)}`;
  }
  function pythonOf(decoder, change) {
    const axes = axesOf(decoder, change.path);
    const names = [change.row, change.column].map((n, k) => axes[k].names.length ? quoted(axes[k].names[n]) : String(n));
    return `decoder = tm2tfr.with_weight(decoder, "${change.path}", ${names.join(", ")}, ${String(change.value)})`;
  }

  // src/broken/file.ts
  var NAMES2 = { F64: "float64", I64: "int64" };
  async function weightFile(about, decoder) {
    const tensors = tensorsOf(decoder, JSON.parse(about).sparse);
    const digest = await digestOf(about, tensors);
    const metadata = `${about.slice(0, -1)}, "digest": "${digest}"}`;
    const order2 = [...tensors].sort(([a, x], [b, y]) => x.dtype === y.dtype ? compare2(a, b) : x.dtype === "I64" ? -1 : 1);
    let end2 = 0;
    const entries = order2.map(([name, { dtype, shape, bytes }]) => {
      const start2 = end2;
      end2 += bytes.length;
      return `${JSON.stringify(name)}:{"dtype":"${dtype}","shape":[${shape.join(",")}],"data_offsets":[${start2},${end2}]}`;
    });
    let header = `{"__metadata__":{"tm2tfr":${JSON.stringify(metadata)}}${entries.map((each) => `,${each}`).join("")}}`;
    header += " ".repeat((8 - header.length % 8) % 8);
    const size = new Uint8Array(8);
    new DataView(size.buffer).setBigUint64(0, BigInt(header.length), true);
    return joined2([size, new TextEncoder().encode(header), ...order2.map(([, { bytes }]) => bytes)]);
  }
  function tensorsOf(decoder, sparse) {
    const found = /* @__PURE__ */ new Map();
    for (const [path, matrix] of matricesOf(decoder)) {
      if (!Object.hasOwn(sparse, path)) {
        found.set(path, { dtype: "F64", shape: [matrix.height, matrix.width], bytes: bytesOf(dense(matrix)) });
        continue;
      }
      for (const part of ["rows", "columns"]) found.set(`${path}.${part}`, { dtype: "I64", shape: [matrix[part].length], bytes: bytesOf(BigInt64Array.from(matrix[part], BigInt)) });
      found.set(`${path}.values`, { dtype: "F64", shape: [matrix.values.length], bytes: bytesOf(matrix.values.slice()) });
    }
    return found;
  }
  function dense({ height, width, rows, columns, values }) {
    const found = new Float64Array(height * width);
    values.forEach((value, n) => found[rows[n] * width + columns[n]] = value);
    return found;
  }
  var bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  async function digestOf(about, tensors) {
    const encoder = new TextEncoder();
    const parts3 = [encoder.encode(sorted(about))];
    for (const [name, { dtype, shape, bytes }] of [...tensors].sort(([a], [b]) => compare2(a, b))) parts3.push(encoder.encode(`
${name} ${NAMES2[dtype]} ${shape.join(" ")}
`), bytes);
    if (!globalThis.crypto?.subtle) throw new Error("this browser computes no SHA-256 here, which a weight file ends with: open the page from disk, or over https");
    const hash = await crypto.subtle.digest("SHA-256", joined2(parts3));
    return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  function joined2(parts3) {
    const found = new Uint8Array(parts3.reduce((sum2, { length }) => sum2 + length, 0));
    let at = 0;
    for (const part of parts3) {
      found.set(part, at);
      at += part.length;
    }
    return found;
  }
  function compare2(a, b) {
    const [x, y] = [[...a], [...b]];
    const n = x.findIndex((sign2, k) => sign2 !== y[k]);
    if (n < 0) return x.length - y.length;
    return n >= y.length ? 1 : x[n].codePointAt(0) - y[n].codePointAt(0);
  }
  var TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([-\w.+]+)|([[\]{},:]))/gy;
  function sorted(json) {
    const tokens = [...json.matchAll(TOKEN)].map((match) => match[1] ?? match[2] ?? match[3]);
    let at = 0;
    const value = () => {
      const token2 = tokens[at++];
      if (token2 !== "{" && token2 !== "[") return token2;
      const [close, parts3] = [token2 === "{" ? "}" : "]", []];
      while (tokens[at] !== close) {
        const key = token2 === "{" ? tokens[at] : "";
        if (key) at += 2;
        parts3.push([key, value()]);
        if (tokens[at] === ",") at++;
      }
      at++;
      if (token2 === "[") return `[${parts3.map(([, each]) => each).join(",")}]`;
      const named = parts3.map(([key, each]) => [JSON.parse(key), `${key}:${each}`]);
      return `{${named.sort(([a], [b]) => compare2(a, b)).map(([, each]) => each).join(",")}}`;
    };
    return value();
  }

  // src/broken/broken.ts
  var Broken = class _Broken {
    constructor(name, spec, buffers, address) {
      this.name = name;
      this.buffers = buffers;
      this.address = address;
      this.spec = spec.decoder;
      [this.right, this.about] = weightsOf(spec, buffers);
      this.current = this.listed = this.shown = this.right;
    }
    name;
    buffers;
    address;
    /** The weights as they came. */
    right;
    about;
    changes = [];
    /** The weights with all changes. */
    current;
    /** The weights with all changes but those to 0, so that a listing still has their terms. */
    listed;
    /** The layers whose weights are open: 0 is the embedding, one more than the last the unembedding. */
    open = /* @__PURE__ */ new Set();
    /** Runs the weights as they are. */
    start = () => {
    };
    /** Opens the weights of the chosen layer, as a view says it. */
    invite = () => {
    };
    /** The weights of the run that the page shows. */
    shown;
    /** What is said of the last run, and whether it is bad news. */
    news = { text: "", bad: false };
    views = [];
    spec;
    /** The weights of a page of one run, if the page can run them. */
    static of(data, buffers, address = false) {
      return data.runs.length > 1 || Rerun.refusal(data) !== null ? null : new _Broken(data.box.name, data.runs[0], buffers, address);
    }
    /** Tell these views of every change, and those of an earlier run no more. */
    watched(views) {
      this.views = views;
    }
    /** Tell these views as well. */
    watches(...views) {
      this.views.push(...views);
    }
    /** Change a weight, as it is written in the card of a layer. Throws `Refused`. */
    write(text, layer) {
      this.set(readChange(this.right, text, layer));
    }
    set(change) {
      const others = this.changes.filter((each) => !same(each, change));
      this.update(change.value === this.old(change) ? others : [...others, change]);
    }
    undo(change) {
      this.update(this.changes.filter((each) => !same(each, change)));
    }
    /** Forget all changes. */
    clear() {
      if (this.changes.length) this.update([]);
      this.news = { text: "", bad: false };
      this.told();
    }
    /** The value that a weight had. */
    old({ path, row, column: column3 }) {
      return entry(matricesOf(this.right).get(path), row, column3);
    }
    /** The change of a weight; undefined if it is as it was. */
    changeOf(weight) {
      return this.changes.find((each) => same(each, weight));
    }
    /** Say what came of a run. */
    say(text, bad = false) {
      this.news = { text, bad };
      this.told();
    }
    /** Whether the page shows a run of other weights than the present ones. */
    get stale() {
      return this.current !== this.shown;
    }
    /** Take note that the page shows a run of these weights. */
    shows(weights) {
      this.shown = weights;
      this.told();
    }
    /** The lines that do the same in Python. */
    get python() {
      const lines = this.changes.map((change) => pythonOf(this.right, change));
      return ["import tm2tfr", "", `decoder = tm2tfr.compile(${JSON.stringify(this.name)})  # or the weights that this page shows`, ...lines, ""].join("\n");
    }
    /** The options that do the same on the command line. */
    get command() {
      return this.changes.map((change) => `--set '${this.said(change)}'`).join(" ");
    }
    said(change) {
      return `${placeText(this.right, change).replace(", ", ",")}=${weightText(change.value)}`;
    }
    /** The changed weights as a weight file, and its name. */
    async file() {
      return [await weightFile(textAt(this.buffers, this.spec.about), this.current), `${this.name.replace(/[^\w.-]+/g, "-") || "weights"}-changed.safetensors`];
    }
    /** Make the changes that the address says: `#set=layers.4.heads.0.query[h,1]=-1`. Returns whether there are any, and throws `Refused`. */
    fromAddress() {
      const texts = changesInAddress();
      const changes = texts.map((text) => readChange(this.right, text)).filter((change) => change.value !== this.old(change));
      if (changes.map((change) => this.said(change)).join() === this.changes.map((change) => this.said(change)).join()) return false;
      this.update(changes);
      return true;
    }
    update(changes) {
      this.changes = changes;
      this.current = changes.length ? changed(this.right, changes) : this.right;
      this.listed = changes.some(({ value }) => value === 0) ? changed(this.right, changes.filter(({ value }) => value !== 0)) : this.current;
      this.news = { text: "", bad: false };
      if (this.address) keepInAddress(changes.map((change) => this.said(change)));
      this.told();
    }
    told() {
      for (const view2 of this.views) view2();
    }
  };
  var same = (a, b) => a.path === b.path && a.row === b.row && a.column === b.column;

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
  function form(terms2, constant = null) {
    const pieces = [];
    const add = (name, weight) => {
      const text = termText(weight.value, name);
      const negative = text.startsWith("-");
      const before = pieces.length ? negative ? " - " : " + " : "";
      pieces.push({ before, text: visible(before && negative ? text.slice(1) : text), name, weight });
    };
    for (const { name, weight } of terms2) add(name, weight);
    if (constant?.value) add("", constant);
    return pieces.length ? pieces : [plain("0")];
  }
  var weightsOf2 = (path, { rows, columns, values }) => Array.from(values, (value, n) => ({ path, row: rows[n], column: columns[n], value }));
  function grouped(path, matrix, by, names) {
    const found = Array.from({ length: by === "row" ? matrix.height : matrix.width }, () => []);
    for (const weight of weightsOf2(path, matrix)) found[weight[by]].push({ name: names[by === "row" ? weight.column : weight.row], weight });
    return found;
  }
  var vectorOf = (path, matrix) => new Map(weightsOf2(path, matrix).map((weight) => [weight.row, weight]));
  var sourced = (text, source) => [text, source && `[${source}]`].filter(Boolean).join(" ");
  function layerListing(decoder, about, number3) {
    const layer = decoder.layers[number3 - 1];
    const { name, meaning, source, heads, feed_forward: said } = about.layers[number3 - 1];
    const { directions } = decoder.names;
    const path = `layers.${number3}`;
    const told = sourced(meaning, source);
    const lines = [[plain(name ? `layer ${number3}: ${name}` : `layer ${number3}`)]];
    if (told) lines.push([plain(`  ${told}`)]);
    lines.push(...normed2(decoder, layer.attentionNorm, "attention", `${path}.attention_norm`, "  "));
    layer.heads.forEach((head, k) => {
      const about2 = heads[k];
      const own = `${path}.heads.${k}`;
      lines.push([plain(`  ${sourced(`head ${quoted(about2.name)}`, about2.source)}: ${MASKED[head.mask]}, ${about2.weighting}`)]);
      if (!head.query.values.length && !head.key.values.length) lines.push([plain("    query = key = 0 (uniform attention)")]);
      for (const part2 of ["query", "key"]) grouped(`${own}.${part2}`, head[part2], "row", directions).forEach((terms2, c) => lines.push([plain(`    ${part2}[${c}] = `), ...form(terms2)]));
      const targets = grouped(`${own}.output`, head.output, "column", directions);
      grouped(`${own}.value`, head.value, "row", directions).forEach((terms2, c) => lines.push([plain(`    value[${c}] = `), ...form(terms2), plain(" → "), ...form(targets[c])]));
    });
    lines.push(...normed2(decoder, layer.feedForwardNorm, "feed-forward", `${path}.feed_forward_norm`, "  "));
    const part = layer.feedForward;
    if (part) {
      const own = `${path}.feed_forward`;
      const bias = vectorOf(`${own}.input_bias`, part.inputBias);
      const writes = grouped(`${own}.output`, part.output, "column", directions);
      const units = said.units;
      lines.push([plain(`  feed-forward, ${units.length} hidden unit${units.length === 1 ? "" : "s"}`)]);
      grouped(`${own}.input`, part.input, "row", directions).forEach(
        (terms2, u) => lines.push([plain(`    hidden[${u}] = ReLU(`), ...form(terms2, bias.get(u)), plain(") → "), ...form(writes[u]), plain(units[u] ? `  # ${units[u]}` : "")])
      );
      const offset = weightsOf2(`${own}.output_bias`, part.outputBias);
      if (offset.length) lines.push([plain("    bias → "), ...form(offset.map((weight) => ({ name: directions[weight.row], weight })))]);
    }
    return lines;
  }
  function normed2(decoder, norm, before, path, indent) {
    if (!norm) return [];
    const column3 = (name) => {
      const weights = weightsOf2(`${path}.${name}`, norm[name]);
      const values = new Set(weights.map(({ value }) => value));
      if (weights.length < norm[name].height) values.add(0);
      const head = plain(`${indent}  ${name}: `);
      if (values.size === 1) return [head, plain(`${coefficient([...values][0])} everywhere`)];
      return [head, ...form(weights.map((weight) => ({ name: decoder.names.directions[weight.row], weight })))];
    };
    return [[plain(`${indent}layer norm before ${before}, epsilon = ${repr(norm.epsilon)}`)], column3("gain"), column3("bias")];
  }
  function embeddingListing(decoder) {
    const { directions } = decoder.names;
    const lines = [[plain("embedding")]];
    grouped("token_embedding", decoder.tokens, "column", directions).forEach((terms2, n) => lines.push([plain(`  token ${decoder.vocabulary[n]} → `), ...form(terms2)]));
    grouped("position_embedding", decoder.place, "column", directions).forEach((terms2, n) => lines.push([plain(`  position ${decoder.features[n]} → `), ...form(terms2)]));
    if (!decoder.table) return lines;
    const positions2 = decoder.table.width;
    lines.push([plain(`  table of ${counted(positions2, "position")}`)]);
    grouped("position_table", decoder.table, "column", directions).forEach((terms2, i) => {
      if (positions2 > TABLED && i === positions2 - 1) lines.push([plain(`    … ${counted(positions2 - TABLED, "more position")}`)]);
      if (i < TABLED - 1 || i === positions2 - 1 || positions2 <= TABLED) lines.push([plain(`    at ${i} → `), ...form(terms2)]);
    });
    return lines;
  }
  function unembeddingListing(decoder) {
    const bias = vectorOf("unembedding_bias", decoder.unembeddingBias);
    const names = answered(decoder);
    const lines = [...normed2(decoder, decoder.norm, "the unembedding", "norm", ""), [plain("unembedding")]];
    grouped("unembedding", decoder.unembedding, "row", decoder.names.directions).forEach((terms2, n) => lines.push([plain(`  logit ${names[n]} = `), ...form(terms2, bias.get(n))]));
    return lines;
  }
  function textOf(lines) {
    return lines.map((line) => `${line.map(({ before, text }) => (before ?? "") + text).join("")}
`).join("");
  }

  // src/live/inputs.ts
  var NEAR2 = 60;
  var WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]/u;
  var SEPARATORS = /\s*[+*,]\s*/;
  var NUMBER2 = /^(?:0x([0-9a-f]+)|0b([01]+)|([0-9]+))$/i;
  var MOST_NAMED = 8;
  var BLOCK_BYTES = 64;
  function wordOf(box, text) {
    if (box.tokens) return labelledWord(box, box.tokens, text);
    const signs = [...text];
    if (box.circuit) return [...bitsOf(box, text)];
    if (box.alphabet) checkSymbols(box, box.alphabet, signs);
    return signs;
  }
  function stepsOf(text, most) {
    const limit = Number(text);
    if (text.trim() === "") return null;
    if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
    throw stepsRefused(most);
  }
  function stepsRefused(most) {
    return new Refused(`the largest number of steps must be a whole number from 1 to ${most.toLocaleString("en")}: change it`);
  }
  function checkSymbols({ name, blank, about }, alphabet, signs) {
    const known = new Set(alphabet);
    const first = signs.findIndex((sign2) => !known.has(sign2));
    if (first < 0) return;
    const near2 = signs.slice(Math.max(0, first - NEAR2), first + NEAR2);
    const shown2 = near2.map((sign2) => visible(sign2) === sign2 ? sign2 : "�").join("");
    const marks = near2.map((sign2) => (known.has(sign2) ? " " : "^").repeat(WIDE.test(sign2) ? 2 : 1)).join("").trimEnd();
    const symbols = alphabet.length ? `{${alphabet.map(visible).join(", ")}}` : "empty";
    const why = signs[first] === blank ? " (it is the blank)" : "";
    throw new Refused(`input of ${name}: position ${first}: ${quoted(signs[first])} is not in the input alphabet${why}: use only its symbols (${symbols})${about ? `, or ${about}` : ""}
  ${shown2}
  ${marks}`);
  }
  function tokensOf(text) {
    if (text.startsWith("[")) {
      try {
        const found = JSON.parse(text);
        if (Array.isArray(found) && found.length && found.every((token2) => ["string", "number"].includes(typeof token2))) return found.map(String);
      } catch {
      }
    }
    return [...text];
  }
  function labelledWord({ name, most }, { before, after: after2, alphabet, about }, text) {
    const word = tokensOf(text);
    if (about && !word.length) throw new Refused(about.empty);
    const wrong = about ? word.findIndex((token2) => !alphabet.includes(token2)) : -1;
    if (about && wrong >= 0) {
      const [start2, middle, end2] = about.unknown;
      throw new Refused(`${start2}${wrong + about.first}${middle}${quoted(word[wrong])}${end2}`);
    }
    const many = before.length + word.length + after2.length;
    if (many > most) throw new Refused(`${name}: the page shows every pair of positions, and ${many.toLocaleString("en-US")} positions are too many: use at most ${most}`);
    return word;
  }
  function bitsOf({ name, circuit }, text) {
    const { inputs, encoding, buses } = circuit;
    const bits3 = text.trim();
    const refused2 = (what, remedy) => new Refused(`input of ${name}: ${what}: ${remedy}`);
    const named = buses.slice(0, MOST_NAMED).map((bus) => `${visible(bus.name)} (${counted(bus.bits.length, "bit")})`);
    const wanted = `a number for each of ${named.join(", ")}${buses.length > named.length ? ` and ${buses.length - named.length} more` : ""}`;
    if (bits3.length === inputs && /^[01]*$/.test(bits3)) return bits3;
    if (encoding) return padded(text);
    if (/^[01]*$/.test(bits3)) throw refused2(`${counted(bits3.length, "bit")} for ${counted(inputs, "input")}`, `give a bit for each input, or ${wanted}`);
    const parts3 = bits3.split(SEPARATORS);
    if (parts3.length !== buses.length) throw refused2(`${counted(parts3.length, "number")} where there must be ${buses.length}`, `give a bit for each input, or ${wanted}`);
    const found = new Array(inputs).fill("0");
    buses.forEach((bus, n) => {
      const part = parts3[n];
      const short = quoted(part.length <= 30 ? part : `${part.slice(0, 30)}…`);
      const number3 = NUMBER2.exec(part);
      if (!number3) throw refused2(`${short} is not a number`, `give ${wanted}, such as 58, 0x3A or 0b111010`);
      const digits2 = number3[1] ? `0x${number3[1]}` : number3[2] ? `0b${number3[2]}` : number3[3];
      const value = BigInt(digits2);
      const width = bus.bits.length;
      if (value >> BigInt(width)) throw refused2(`${short} does not fit ${visible(bus.name)}, which has ${counted(width, "bit")}`, `use at most ${width <= 64 ? (1n << BigInt(width)) - 1n : `2^${width} - 1`}`);
      bus.bits.forEach((place, k) => found[place] = String(value >> BigInt(k) & 1n));
    });
    return found.join("");
  }
  function bytesOf2(text) {
    const digits2 = /^0x([0-9a-fA-F]+)$/.exec(text)?.[1];
    if (digits2 === void 0) return new TextEncoder().encode(text);
    if (digits2.length % 2) {
      const own = Array.from(text.slice(0, 4), (sign2) => sign2.charCodeAt(0).toString(16).padStart(2, "0")).join("");
      const shown2 = text.length <= 40 ? text : `${text.slice(0, 40)}…`;
      const what = `${shown2} has ${counted(digits2.length, "digit")} after 0x`;
      throw new Refused(`input: ${what}: write two for each byte; the bytes of this text itself are 0x${own}…`);
    }
    return Uint8Array.from(digits2.match(/../g), (pair) => parseInt(pair, 16));
  }
  function padded(text) {
    const message = bytesOf2(text);
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
  function hint({ alphabet, blank, circuit, tokens, examples }) {
    const quote = (text) => text === "" ? "the empty word" : visible(text);
    if (tokens) return tokensHint(tokens.alphabet);
    const such = examples.length ? `, such as ${examples.slice(0, 4).map(quote).join(", ")}` : "";
    if (circuit?.encoding) return "any text, bytes such as 0x616263, or a bit for each input";
    if (circuit) {
      const whole3 = circuit.buses.some((bus) => bus.bits.length > 1) ? `, or a number for each of ${circuit.buses.map((bus) => visible(bus.name)).join(", ")}` : "";
      return `${counted(circuit.inputs, "bit")}, one for each input${whole3}`;
    }
    if (!alphabet) return "one token for each character";
    if (!alphabet.length) return "the empty word alone: the machine has no input symbols";
    return `symbols ${alphabet.map((a) => a === " " ? "␣ (space)" : visible(a)).join(" ")}${such}; the blank is ${blank === " " ? "␣ (space)" : visible(blank ?? "")}`;
  }
  function tokensHint(alphabet) {
    const most = 40;
    const shown2 = alphabet.slice(0, most).map((token2) => token2 === " " ? "␣ (space)" : visible(token2));
    const more = alphabet.length > most ? ` and ${(alphabet.length - most).toLocaleString("en-US")} more` : "";
    const long = alphabet.filter((token2) => [...token2].length > 1).slice(0, 2);
    const how = long.length ? `as a JSON list, such as ${JSON.stringify(long)}` : "one character each";
    return `tokens ${shown2.join(" ")}${more}; ${how}`;
  }

  // src/live/soft.ts
  var HIGHEST = 10;
  var LOWEST = -10;
  var STREAK = 3;
  var HALVINGS = 5;
  function softened(decoder, temperature) {
    if (decoder.loops.length) throw new Refused("these weights have loops, in whose passes the errors of softmax add up, and no bound is known: use average-hard attention");
    const layers = decoder.layers.map((layer) => ({
      ...layer,
      heads: layer.heads.map((head) => {
        const values = head.query.values.map((value) => value / temperature);
        if (values.some((value) => !Number.isFinite(value))) throw new Refused(`queries divided by the temperature ${temperature} are too large: use a higher one`);
        return { ...head, soft: true, query: { ...head.query, values } };
      })
    }));
    return { ...decoder, layers };
  }
  function answersAt(decoder, logits) {
    return answersOf(decoder, logits).map((answer) => typeof answer === "number" ? plainNumber(answer) : String(answer));
  }
  var Softness = class {
    /** tokens: all that are fed. */
    constructor(decoder, tokens) {
      this.decoder = decoder;
      this.given = prompted(decoder, tokens);
      this.hard = wholeRun(decoder, this.given).map(({ logits }) => answersAt(decoder, logits));
    }
    decoder;
    /** The answers under hard attention, by position and output. */
    hard;
    given;
    at(temperature) {
      const weights = this.decoder.layers.map(({ heads }) => heads.map(() => []));
      const watch = (i) => ({ stage() {
      }, head: (layer, head, look) => weights[layer][head][i] = look && look.weights });
      const soft = softened(this.decoder, temperature);
      const passed = wholeRun(soft, this.given, new Map(this.given.map((_, i) => [i, watch(i)])));
      const answers2 = passed.map(({ logits }) => answersAt(soft, logits));
      let [right, flips] = [0, null];
      answers2.forEach(
        (row, i) => row.forEach((answer, k) => {
          if (answer === this.hard[i][k]) right++;
          else flips ??= [i, k];
        })
      );
      return { answers: answers2, flips, flipped: answers2.map((row, i) => row.some((answer, k) => answer !== this.hard[i][k])), right, weights };
    }
    /** The largest temperature found at which every answer is the same; null: none of those tried. */
    warmest() {
      const right = (power2) => this.at(2 ** power2).flips === null;
      let best2 = null;
      for (let power2 = HIGHEST; power2 >= LOWEST; power2--) {
        if (!right(power2)) best2 = null;
        else {
          best2 ??= power2;
          if (best2 - power2 === STREAK) break;
        }
      }
      if (best2 === null) return null;
      let [low, high] = [best2, best2 + 1];
      for (let n = 0; n < HALVINGS && best2 < HIGHEST; n++) {
        const middle = (low + high) / 2;
        [low, high] = right(middle) ? [middle, high] : [low, middle];
      }
      return 2 ** low;
    }
  };

  // src/controls.ts
  var SPEEDS = [0.5, 1, 2, 4, 8, 16, 32, 64, 250, 1e3];
  var PLAY = "M8 5v14l11-7z";
  var PAUSE = "M6 5h4v14H6zM14 5h4v14h-4z";
  var keys = (graph, layers) => [
    ["Space", layers ? "play the layers at this position, pause" : "play, pause"],
    ["→ ←", layers ? "the next position, the previous position" : "one step forward, one step back"],
    ["Shift → ←", layers ? "ten positions on, ten positions back" : "ten steps forward, ten steps back"],
    ["Page Down, Page Up", layers ? "a hundred positions on, a hundred positions back" : "a hundred steps forward, a hundred steps back"],
    ["Home, End", "the first position, the last position"],
    ["↓ ↑", `the next layer, the previous layer; after the ${layers ? "outputs" : "last"} comes the embedding`],
    ...graph ? [["g", `enlarge the ${graph} to the whole window, and back`]] : [],
    ["+ −", "faster, slower"],
    ["j", "jump to a position"],
    ["d", "jump to the first divergence, if there is one"],
    ["r", "show the raw numbers of the residual stream"],
    ["t", "light, dark, or the system's setting"],
    ["?", "show this"]
  ];
  var Controls = class {
    constructor(store, root2, signal, settings) {
      this.store = store;
      this.root = root2;
      this.settings = settings;
      const { last } = store;
      const layers = store.plays === "layers";
      const button = (name, path, act, kind2 = "") => el("button", { type: "button", class: `control ${kind2}`, "aria-label": name, title: name, click: act }, icon(path));
      this.play = button("Play", PLAY, () => store.toggle(), "play");
      this.slider = el("input", { type: "range", min: store.first, max: last, step: 1, "aria-label": "Position", input: () => store.set({ i: Number(this.slider.value), playing: false }) });
      this.jump = el("input", { type: "number", min: 0, max: last, "aria-label": "Jump to position", change: () => store.set({ i: Number(this.jump.value), playing: false }) });
      this.jump.style.width = `${String(last).length + 4}ch`;
      this.speed = el(
        "select",
        { "aria-label": "Speed", title: `${store.plays} per second`, change: () => store.set({ speed: Number(this.speed.value) }) },
        ...SPEEDS.map((speed) => el("option", { value: speed }, `${speed}/s`))
      );
      this.element = el(
        "nav",
        { class: "controls", "aria-label": "Playing" },
        button(layers ? "The embedding" : "First position", "M6 5h2.5v14H6zM20 5v14l-10-7z", () => layers ? store.advance(-Infinity) : store.begin(), "wide-only"),
        button(layers ? "Back one layer" : "Back", "M17 5v14L7 12z", () => store.advance(-1)),
        this.play,
        button(layers ? "On one layer" : "Step", "M7 5v14l10-7z", () => store.advance(1)),
        button(layers ? "The outputs" : "Last position", "M15.5 5H18v14h-2.5zM4 5v14l10-7z", () => store.advance(Infinity), "wide-only"),
        layers ? this.stage : null,
        layers ? el("span", { class: "wide-only soft", "aria-hidden": "true" }, "position") : null,
        this.slider,
        el("label", { class: "jump" }, this.jump, ` of ${last.toLocaleString("en")}`),
        this.speed
      );
      this.help = el(
        "dialog",
        { class: "help", "aria-label": "Terms and keys" },
        el("form", { method: "dialog" }, el("button", { class: "small" }, "Close")),
        el("h2", {}, "Terms"),
        el("dl", { class: "terms" }, ...settings.terms.flatMap(([term, meaning]) => [el("dt", {}, term), el("dd", {}, meaning)])),
        el("h2", {}, "Keys"),
        el("dl", {}, ...keys(settings.graph, layers).flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)]))
      );
      store.subscribe((now) => this.draw(now));
      addEventListener("keydown", (event) => this.key(event), { signal });
      const follow = (event) => store.set({ ...fromAddress(new URL(event.newURL).hash), playing: false });
      if (settings.address) addEventListener("hashchange", follow, { signal });
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
    stage = el("span", { class: "stage", "aria-live": "off" });
    timer = 0;
    draw(now) {
      this.slider.value = String(now.i);
      set(this.slider, { "aria-valuetext": `position ${now.i} of ${this.store.last}` });
      if (document.activeElement !== this.jump) this.jump.value = String(now.i);
      this.speed.value = String(now.speed);
      this.stage.textContent = this.settings.stage(now.layer);
      const name = now.playing ? "Pause" : this.store.plays === "layers" ? "Play the layers at this position" : "Play";
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
      const stages = this.store.top + 2;
      this.store.set({ layer: (this.store.now.layer + 1 + by + stages) % stages - 1 });
      requestAnimationFrame(() => this.root.querySelector(".layer.chosen")?.scrollIntoView({ block: "nearest" }));
    }
    action(event) {
      const { store, root: root2 } = this;
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
        g: () => root2.querySelector("[data-enlarges]")?.click(),
        r: () => store.set({ raw: !store.now.raw }),
        t: () => theme2?.(),
        "?": () => this.help.showModal()
      };
      if (root2.querySelector(".graph-panel.large")) actions["Escape"] = actions["g"];
      if (divergence !== null) actions["d"] = () => store.set({ i: divergence, playing: false });
      return actions[event.key];
    }
  };
  function leavesFocus(root2, signal) {
    const prevent = (event) => {
      if (event.target.closest("button")) event.preventDefault();
    };
    root2.addEventListener("mousedown", prevent, signal ? { signal } : {});
  }
  function fromAddress(hash = location.hash) {
    const said = new URLSearchParams(hash.slice(1));
    const found = {};
    const [i, layer] = [said.get("i"), said.get("layer")];
    if (i !== null && /^\d+$/.test(i)) found.i = Number(i);
    if (layer !== null && /^\d+$/.test(layer)) found.layer = Number(layer) - 1;
    return found;
  }
  function toAddress({ i, layer }, home) {
    const hash = `#${[`i=${i}`, ...layer === home ? [] : [`layer=${layer + 1}`], ...keptInAddress()].join("&")}`;
    if (hash === location.hash) return;
    try {
      history.replaceState(null, "", hash);
    } catch {
    }
  }

  // src/live/box.ts
  var Box = class {
    constructor(data, buffers, script, show, broken) {
      this.data = data;
      this.buffers = buffers;
      this.show = show;
      this.broken = broken;
      const { box } = data;
      this.rerun = new Rerun(data, buffers, () => workerOf(script), broken);
      if (broken) broken.start = () => this.again();
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
        box.tokens ? null : el("label", { for: "live-steps", class: "most" }, "at most ", this.steps, ` ${units}`),
        this.start,
        this.stop,
        this.back,
        broken && el("button", { type: "button", class: "small invite", click: () => broken.invite() }, "break a weight …"),
        this.bar,
        el("p", { class: "hint", id: "live-hint" }, hint(box)),
        this.status,
        this.error
      );
      const reason2 = Rerun.refusal(data);
      if (reason2 === null) return;
      this.element.replaceChildren(el("p", { class: "hint" }, `No other input can be run in this page: ${reason2}.`));
    }
    data;
    buffers;
    show;
    broken;
    element;
    input;
    steps;
    start;
    stop;
    back;
    bar = el("progress", { hidden: true, "aria-label": "Positions done" });
    status = el("p", { class: "said-live", role: "status" });
    error = el("pre", { class: "live-error", role: "alert", id: "live-error" });
    running = null;
    rerun;
    /** Run what is in the box with the weights as they are now; without a change, the recorded run is that of its input. */
    again() {
      if (this.broken?.changes.length === 0 && this.input.value === this.data.box.word) return this.recorded();
      this.end();
      this.element.requestSubmit();
    }
    /** Do something, and say why it is refused, if it is. */
    attempt(something) {
      try {
        something();
      } catch (error) {
        this.refuse(error);
      }
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
      const { most } = this.data.box;
      if (this.data.box.tokens) return null;
      const limit = stepsOf(this.steps.value, most);
      if (limit === null && !this.data.circuit) throw stepsRefused(most);
      return limit;
    }
    run(word, maxSteps) {
      this.working(true);
      this.say("Running …");
      const text = this.data.box.tokens && this.input.value;
      this.running = this.rerun.begin(word, text, maxSteps, (done) => this.say(`Running: ${count(done, "position")} …`));
      this.running.finished.then((again) => this.finish(again)).catch((error) => {
        this.working(false);
        this.refuse(error);
      });
    }
    finish({ data, buffers, said }) {
      this.working(false);
      this.show(data, buffers);
      this.back.hidden = false;
      this.say(said);
    }
    /** End a run that has not finished. */
    end() {
      this.running?.stop();
      this.working(false);
    }
    halt() {
      this.end();
      this.say("Stopped: the page shows the previous run.");
    }
    recorded() {
      this.end();
      this.broken?.clear();
      this.broken?.shows(this.broken.right);
      this.show(this.data, this.buffers);
      this.back.hidden = true;
      this.input.value = this.data.box.word;
      this.say("This is the recorded run.");
    }
    working(on) {
      if (!on) this.running = null;
      const { element, start: start2, stop, bar } = this;
      busy({ element, start: start2, stop, bar }, on);
    }
    say(text) {
      this.status.textContent = this.broken?.changes.length ? "" : text;
      this.broken?.say(text);
      this.error.textContent = "";
      set(this.input, { "aria-invalid": null });
    }
    refuse(error) {
      this.status.textContent = "";
      const said = error instanceof Refused ? error.message : `This input cannot be run here: ${error instanceof Error ? error.message : String(error)}`;
      this.error.textContent = said;
      if (this.broken?.changes.length) this.broken.say(said, true);
      else {
        set(this.input, { "aria-invalid": "true" });
        this.input.focus();
      }
    }
  };

  // src/launch.ts
  function launch(start2) {
    if (typeof document === "undefined") return serve();
    start2(document.currentScript.textContent).catch((error) => {
      document.querySelector("main").replaceChildren(el("p", { class: "notice" }, `This page cannot be shown: ${String(error)}. It needs a browser of 2024 or later.`));
      throw error;
    });
  }

  // src/bits.ts
  var MOST = 120;
  var FEW = 40;
  var MOST_OUTPUTS = 64;
  var BitsPanel = class {
    constructor(bits3, store) {
      this.bits = bits3;
      this.store = store;
      [this.circuit, this.run] = [bits3.circuit, bits3.run];
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
    draw(position, _layer, playing) {
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
      const looks4 = this.heads.map(({ layer, head }) => this.run.look(layer, head, i));
      const focused = this.cells.contains(document.activeElement);
      this.cells.replaceChildren(...Array.from({ length: last - first }, (_, n) => this.cell(first + n, i, looks4)));
      if (focused) this.cells.querySelector("[aria-current]")?.focus({ preventScroll: true });
      this.more.hidden = last - first === circuit.size;
      this.more.textContent = `bits ${first} to ${last - 1} of 0 to ${circuit.size - 1}`;
    }
    cell(net, i, looks4) {
      const { bits: bits3, circuit, store } = this;
      const bit = bits3.known(net, i);
      const wrong = bit !== null && net <= i + 1 ? bits3.wrong(net) : void 0;
      const state = net === i ? "now" : net === circuit.answered(i) ? "answered" : net > i ? "unread" : "";
      const outputs = circuit.outputs(net).map((name) => `, output ${name}`).join("");
      const said = `${net}: ${circuit.said(net)}${outputs}${bit === null ? "" : `; bit ${bit}`}${wrong === void 0 ? "" : `, should be ${wrong}`}`;
      const seen = this.heads.flatMap(({ label: label2 }, n) => {
        const look = looks4[n];
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
      const { bits: bits3, circuit, run: run2 } = this;
      const token2 = (text) => el("b", { class: "mono" }, text);
      const answer = run2.rows.answer(i);
      const gate = circuit.answered(i);
      const given = [circuit.isInput(i) ? "The input " : "The gate ", token2(circuit.name(i)), circuit.isInput(i) ? " is " : " gave ", token2(run2.rows.fed(i)), ". "];
      if (gate === null) return [...given, "The decoder's answers before the last input are not used."];
      const operands = circuit.operands(gate);
      const values = operands.map((operand) => bits3.at(operand, i) ?? "?").join(", ");
      const due = bits3.computed(gate, i);
      const what = ["The gate ", token2(circuit.name(gate)), " computes the next bit: ", token2(circuit.formula(gate)), ...operands.length ? [" = ", token2(`${circuit.kind(gate)}(${values})`)] : []];
      if (due === answer) return [...given, ...what, ", and the decoder answers with ", token2(answer), run2.ends(i) ? ", which ends the run." : "."];
      return [...given, ...what, ...due === null ? [] : [" = ", token2(due)], ", but the decoder answers with ", token2(answer), run2.ends(i) ? ", which ends the run." : "."];
    }
    drawOutputs(i) {
      const { circuit, bits: bits3 } = this;
      const { outputs } = circuit.spec;
      const shown2 = outputs.slice(0, MOST_OUTPUTS).map(([name, net]) => {
        const bit = bits3.at(net, i);
        const wrong = bit === null ? void 0 : bits3.wrong(net);
        const says = wrong === void 0 ? null : ` ✗ should be ${wrong}`;
        return el("li", { class: bit === null ? "unknown" : wrong === void 0 ? "" : "bad", "data-output": name }, `${name} = `, el("b", { class: "mono" }, bit ?? "·"), says);
      });
      const rest = outputs.length - shown2.length;
      this.outputs.replaceChildren(...shown2, ...rest > 0 ? [el("li", { class: "unknown" }, `and ${rest} more`)] : []);
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

  // src/broken/panel.ts
  var ChangesPanel = class {
    constructor(broken) {
      this.broken = broken;
      const button = (name, click, kind2 = "") => el("button", { type: "button", class: `small ${kind2}`, click }, name);
      this.run = button("Run", () => broken.start(), "go");
      this.run.id = "changes-run";
      const undone = () => {
        broken.clear();
        broken.start();
      };
      this.element = el(
        "section",
        { class: "panel changes-panel", "aria-label": "Changed weights", hidden: true },
        this.title,
        this.list,
        el("div", { class: "tools" }, this.run, button("Undo all", undone), button("Copy as Python", () => void this.copy()), button("Save weights", () => void this.save())),
        this.status
      );
    }
    broken;
    element;
    list = el("ul", {});
    title = el("h2", {});
    status = el("p", { class: "said-changes", role: "status" });
    run;
    draw() {
      const { broken } = this;
      const { changes, news } = broken;
      this.element.hidden = changes.length === 0 && !broken.stale;
      this.title.textContent = `${changes.length || "No"} changed weight${changes.length === 1 ? "" : "s"}`;
      this.list.replaceChildren(
        ...changes.map((change) => {
          const place = placeText(broken.right, change);
          return el(
            "li",
            {},
            el("code", {}, place),
            " ",
            el("del", {}, coefficient(broken.old(change))),
            " → ",
            el("ins", {}, coefficient(change.value)),
            " ",
            el("button", { type: "button", class: "small", "aria-label": `undo the change of ${place}`, click: () => broken.undo(change) }, "undo")
          );
        })
      );
      this.run.classList.toggle("wanted", broken.stale);
      const text = news.text || (broken.stale ? "Not run yet: the page shows the run before the change." : "");
      if (this.status.textContent !== text) this.status.textContent = text;
      this.status.classList.toggle("bad", news.bad);
    }
    async copy() {
      try {
        await navigator.clipboard.writeText(this.broken.python);
        this.broken.say("Copied: lines of Python that make the same changes.");
      } catch {
        this.show(this.broken.python);
      }
    }
    /** Where the clipboard is not to be had, show what would be in it. */
    show(text) {
      const shown2 = el("pre", { tabindex: 0, class: "python" }, text);
      this.element.querySelector(".python")?.remove();
      this.element.append(shown2);
      getSelection()?.selectAllChildren(shown2);
      this.broken.say("This browser gives no clipboard: copy the lines below.");
    }
    async save() {
      try {
        const [bytes, name] = await this.broken.file();
        const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
        el("a", { href: address, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(address), 1e4);
        this.broken.say(`Saved ${name}: tm2tfr check ${name} reads it.`);
      } catch (error) {
        this.broken.say(error instanceof Error ? error.message : String(error), true);
      }
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
      const { svg: drawing, dot: dot2, none } = drawn;
      if (drawing) this.show(textAt(buffers, drawing));
      else if (dot2 && window.tm2tfrDraws)
        window.tm2tfrDraws(dot2).then((text) => {
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
      const whole3 = Math.min(clientWidth / this.size[0], (height - 14) / this.size[1], LARGEST);
      const readable = whole3 < SMALLEST && !this.element.classList.contains("large") ? READABLE : whole3;
      this.scale = this.zoom === "whole" ? whole3 : this.zoom === "auto" ? readable : Math.max(whole3, Math.min(this.zoom, MOST2));
      this.partly = this.scale > whole3;
      this.followed = null;
      this.scroll.classList.toggle("partly", this.partly);
      set(this.smaller, { disabled: !this.partly });
      set(this.whole, { "aria-pressed": String(!this.partly) });
      drawing.style.width = `${Math.floor(this.size[0] * this.scale)}px`;
      drawing.style.height = `${Math.floor(this.size[1] * this.scale)}px`;
    }
    /** Take the marks off all nodes and edges. */
    unmark(...marks) {
      for (const mark2 of marks) for (const marked of this.scroll.querySelectorAll(`.${mark2}`)) marked.classList.remove(mark2);
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
      const outside2 = centre[0] < 60 || centre[0] > view2.width - 60 || centre[1] < 40 || centre[1] > view2.height - 40;
      if (outside2) this.scroll.scrollBy(centre[0] - view2.width / 2, centre[1] - view2.height / 2);
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
    constructor(bits3, buffers, redraw) {
      const { graph } = bits3.circuit.spec;
      super("circuit", graph, buffers, redraw);
      this.bits = bits3;
      this.circuit = bits3.circuit;
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
      const { bits: bits3, circuit } = this;
      const i = Math.min(position, bits3.run.count - 1);
      const gate = circuit.answered(i);
      const said = gate === null ? `the input ${circuit.name(i)} is given` : this.line(gate, i);
      if (this.drawn) this.mark(i, gate);
      else this.list.replaceChildren(...gate === null ? [] : [this.cone(gate, i, DEPTH)]);
      this.caption.textContent = this.drawn || gate === null ? said : "";
      set(this.scroll, { "aria-label": `Circuit of ${circuit.size - circuit.spec.inputs} gates. Current: ${said}` });
    }
    mark(i, gate) {
      const { bits: bits3, circuit } = this;
      this.unmark("now", "operand", "zero", "one", "bad");
      for (const [name, node] of this.nodes) {
        const net = this.net(name);
        const bit = bits3.at(net, i);
        const corner = this.corner(name, node);
        corner.lastChild.textContent = bit ?? "";
        if (bit === null) continue;
        for (const part of [node, corner]) part.classList.add(bit === "1" ? "one" : "zero");
        if (bits3.wrong(net) !== void 0) node.classList.add("bad");
      }
      for (const [name, edges] of this.edges) {
        const bit = bits3.at(this.net(name.split("->")[0]), i);
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
      const number3 = Number(name.slice(1));
      return name.startsWith("y") ? this.circuit.spec.outputs[number3][1] : number3;
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
      const mark2 = svg("g", { class: "mark", "data-node": name }, svg("circle", { cx: x, cy: y, r: RADIUS }), text);
      node.parentNode.append(mark2);
      this.marks.set(name, mark2);
      return mark2;
    }
    /** A net in a line, with its bits: `sum = XOR(a, b) = XOR(1, 0) = 1`. */
    line(net, i) {
      const { bits: bits3, circuit } = this;
      const bit = bits3.at(net, i) ?? "?";
      if (circuit.isInput(net)) return `${circuit.name(net)} = ${bit}, an input`;
      const found = circuit.operands(net).map((operand) => bits3.at(operand, i) ?? "?");
      const values = found.length ? ` = ${circuit.kind(net)}(${found.join(", ")})` : "";
      const due = bits3.computed(net, i);
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
        const cells2 = Array.from({ length: size }, (_, k) => this.symbol(from + k, i) ?? blank);
        return { cells: cells2, head: Number.isInteger(h) ? h - from : null, cut: from > lowest || lowest < 0 };
      };
    }
    write(cell, at, symbol2) {
      const writes = this.writes.get(cell) ?? { at: [], symbol: [] };
      writes.at.push(at);
      writes.symbol.push(symbol2);
      this.writes.set(cell, writes);
    }
  };

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
      const terms2 = this.terms();
      set(terms2[0] ?? this.listing, { tabindex: 0 });
      if (focused !== void 0) terms2.find((term) => term.dataset["place"] === focused)?.focus({ preventScroll: true });
    }
    lines() {
      const { listed: listed2, about } = this.broken;
      if (this.number === 0) return embeddingListing(listed2);
      return this.number > listed2.layers.length ? unembeddingListing(listed2) : layerListing(listed2, about, this.number);
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
      const terms2 = this.terms();
      const here = terms2.indexOf(document.activeElement);
      const step = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: terms2.length - 1 };
      const next = step[event.key];
      if (here < 0 || next === void 0) return;
      event.preventDefault();
      const term = terms2[Math.max(0, Math.min(terms2.length - 1, next))];
      set(terms2[here], { tabindex: -1 });
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

  // src/strip.ts
  var FAINTEST = 0.18;
  var MOST3 = 60;
  var LANE = 26;
  var LOWEST2 = 42;
  var DASHES = ["", "9 4", "2.5 4", "13 4 2.5 4", "6 3 2 3 2 3", "1.5 2.5", "18 4"];
  var SPREAD = 34;
  var WIDE2 = { gap: 9, omitted: 50, around: 18, least: 40, arrow: 34, lettering: 1 };
  var CLOSE = { gap: 6, omitted: 50, around: 14, least: 30, arrow: 30, lettering: 1 };
  var MEDIUM = { gap: 5, omitted: 44, around: 9, least: 26, arrow: 26, lettering: 0.9 };
  var LIMITS = [26, 20, 16, 14, 12, 10, 8, 6];
  var EDGE = 6;
  var NARROW = { gap: 4, omitted: 38, around: 7, least: 24, arrow: 17, lettering: 0.8 };
  var Strip = class {
    constructor(run2, store, circuit, description = null, ends2 = []) {
      this.run = run2;
      this.store = store;
      this.circuit = circuit;
      this.description = description;
      this.ends = ends2;
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
          ({ label: label2, name, layer }, n) => el("li", {}, el("button", { type: "button", class: `hue${n % 7}`, click: () => store.set({ layer: run2.stepsWith(store.now.layer)[layer] }) }, sample(n), el("b", {}, label2), el("span", {}, ...typeset(name))))
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
    sizes = WIDE2;
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
      const looks4 = this.heads.map(({ layer: l, head }) => run2.look(steps[l], head, i));
      const chips = this.layOut(i, looks4);
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
      this.drawArcs(i, looks4, chips, width, run2.layerOf(layer));
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
    layOut(i, looks4) {
      const { room } = this;
      this.limit = Infinity;
      const chosen = new Set(this.labels ? [0, i, this.run.count - 1] : [i, i + 1]);
      for (const look of looks4) if (!look.uniform) look.sharers.slice(0, 4).forEach((j) => chosen.add(j));
      const rule = this.description?.lookup(i)?.found;
      if (rule) chosen.add(rule.key);
      for (const sizes of this.total(i) - 2 < MOST3 ? [WIDE2, CLOSE, MEDIUM] : []) {
        this.sizes = sizes;
        const all = this.placed(Array.from({ length: this.total(i) }, (_, n) => n), i);
        if (end(all) <= room) return this.written(this.labels ? this.spread(all, i) : all);
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
      const near2 = Array.from({ length: MOST3 }, (_, k) => this.labels ? [i - 1 - k, i + 1 + k] : [i - 1 - k]).flat();
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
    placed(positions2, i) {
      const { gap, around, least, arrow, lettering } = this.sizes;
      const long = (n) => Math.max(this.shown(n, i).length, this.labels ? shortened(this.answer(n), this.limit).length : 0);
      const width = (n) => Math.max(least, long(n) * this.scale * lettering + around) + (n > i && !this.labels ? arrow : 0);
      const chips = [];
      let [left, before] = [2, -1];
      for (const n of positions2.sort((a, b) => a - b)) {
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
    drawArcs(i, looks4, chips, width, layer) {
      const middle = this.middles(looks4, chips, i);
      const here = middle.get(i);
      const first = chips[0].i ? chips[0].left / 2 : middle.get(0);
      const edge = (j) => middle.get(j) ?? (j === 0 ? first : chips.find((chip) => chip.i > j).left);
      const order2 = looks4.map((_, n) => n).sort((a, b) => this.span(looks4[a], i) - this.span(looks4[b], i) || a - b);
      const height = LANE * (looks4.length + 0.5) + LOWEST2;
      set(this.arcs, { width, height, viewBox: `0 0 ${width} ${height}` });
      const drawn = looks4.map((look, n) => {
        const lift = LANE * order2.indexOf(n) + LOWEST2;
        const { label: label2, name, layer: l } = this.heads[n];
        const top = height - lift;
        const from = here + (n - (looks4.length - 1) / 2) * 5;
        const gap = look.runner < 0 ? "" : String(look.score - look.runnerScore);
        const group = svg("g", {
          class: `arc hue${n % 7}${(this.lit?.size ? this.lit.has(label2) : l === layer) ? " chosen" : ""}${this.lit?.has(label2) ? " lit" : ""}`,
          "data-head": label2,
          "data-from": i,
          "data-to": look.uniform ? `${look.sight[0]}..${look.sight[1] - 1}` : look.sharers.join(" "),
          "data-score": look.uniform ? "" : String(look.score),
          "data-runner": look.runner < 0 ? "" : look.runner,
          "data-runner-score": look.runner < 0 ? "" : String(look.runnerScore),
          "data-gap": gap
        });
        const ends2 = look.uniform ? [] : look.sharers.filter((j) => middle.has(j));
        const targets = ends2.filter((j, k) => ends2.findIndex((other) => middle.get(other) === middle.get(j)) === k);
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
          const to = Math.max(EDGE, middle.get(j) + (n - (looks4.length - 1) / 2) * 5);
          const peak = height - lift / 0.75;
          const faint = { opacity: look.weights ? Math.max(FAINTEST, look.weights[j - look.sight[0]]).toFixed(2) : null };
          if (j === i) {
            if (j === targets[0]) labels[0] = from;
            group.append(svg("path", { d: `M${from - 7} ${height}C${from - 20} ${peak} ${from + 20} ${peak} ${from + 7} ${height - 5}`, ...dash, ...faint }), tip(from + 7, height, faint));
          } else {
            group.append(svg("path", { d: `M${from} ${height}C${from} ${peak} ${to} ${peak} ${to} ${height - 5}`, ...dash, ...faint }), tip(to, height, faint));
          }
        }
        group.append(svg("rect", { x: labels[0] - 17, y: labels[1] - 11, width: 34, height: 22, rx: 11 }), svg("text", { x: labels[0], y: labels[1] + 5 }, label2));
        group.prepend(svg("title", {}, `head ${label2}, ${name}: ${described3(look)}`));
        return group;
      });
      this.arcs.replaceChildren(...[...drawn].sort((a, b) => Number(a.classList.contains("chosen")) - Number(b.classList.contains("chosen"))));
      set(this.arcs, { "aria-label": looks4.map((look, n) => `head ${this.heads[n].label}: ${described3(look)}`).join("; ") });
    }
    /** Where the arcs end: at the middle of a token, and of the mark for omitted ones that describe the machine. */
    middles(looks4, chips, i) {
      const middle = new Map(chips.map((chip) => [chip.i, chip.left + chip.width / 2]));
      for (const look of looks4)
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
  function described3(look) {
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
  var MOST_NAMED2 = 12;
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
      const weights = this.broken ? this.changeable(new WeightsCard(this.broken, l + 1, called, scores)) : read3(called, scores, () => run2.weights[l] ?? textOf(layerListing(...weightsOf(run2.spec, this.buffers), l + 1)));
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
      const written3 = model && !run2.spec.layers[l].equation ? model.variables.filter(({ stored, since }) => stored && since.layer === l + 1) : [];
      return new Map(written3.map(({ name, formula }) => [name, formula.startsWith(`${name} = `) ? formula.slice(name.length + 3) : formula]));
    }
    /** The equation of the positions that a head attends to, where the model has one. */
    pattern(claim) {
      return this.run.spec.labels ? this.model?.patterns.find((each) => each.claim === claim)?.formula ?? null : null;
    }
    heads(l, step, i) {
      const before = this.run.spec.layers.slice(0, Math.max(0, l)).reduce((sum2, layer) => sum2 + layer.heads.length, 0);
      return (this.run.spec.layers[l]?.heads ?? []).map((head, k) => {
        const look = this.run.look(step, k, i);
        const fact = (name, value, full) => el("span", { class: "fact", title: String(full) }, `${name} `, el("b", {}, value));
        const named = look.sharers.slice(0, MOST_NAMED2).join(", ") + (look.sharers.length > MOST_NAMED2 ? ", …" : "");
        const where = look.uniform ? `all scores are ${digits(look.score)}: the mean of all ${count(look.count, "position")}` : look.weights ? `${i} → ${shares(look, MOST_NAMED2)}` : look.count > 1 ? `${i} → ${named}: ${count(look.count, "position")} share the attention` : `${i} → ${look.winner}`;
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
      const changed2 = run2.spec.subspaces.flatMap(
        (subspace, n) => run2.changed(n, step, i) ? [el("span", { class: "value" }, ...symbol(run2, subspace.name), " = ", el("b", { class: "mono" }, words(run2, subspace, run2.value(n, 2 * step + 2, i), i)))] : []
      );
      return changed2.length ? ["writes ", ...changed2] : ["writes nothing here"];
    }
    /** What a step writes, each value with its equation; what it leaves as it was at this position is faint. */
    computed(step, i, equations) {
      const { run: run2 } = this;
      return run2.spec.subspaces.flatMap((subspace, n) => {
        const [formula, changed2] = [equations.get(subspace.name), run2.changed(n, step, i)];
        if (formula === void 0 && !changed2) return [];
        const whole3 = words(run2, subspace, run2.value(n, 2 * step + 2, i), i);
        const text = shortened(whole3, MOST_CHARACTERS);
        const value = el("b", { class: "value mono", title: text === whole3 ? null : whole3 }, text);
        const equation = formula === void 0 || formula === subspace.name ? null : ` = ${formula}`;
        return el("span", { class: `computed${changed2 ? "" : " same"}` }, el("span", {}, el("b", {}, subspace.name), equation), value);
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
      const button = (sign2, name, by) => el("button", { type: "button", class: "small", "aria-label": name, title: name, click: () => this.turn(by) }, sign2);
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
  function read3(called, scores, listing) {
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
  var Stream = class {
    constructor(run2, store) {
      this.run = run2;
      const names = ["the embedding", ...run2.spec.steps.map(([layer], step) => `${stepNamed(run2, step)}: ${run2.spec.layers[layer].name}`)];
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
      this.list.classList.toggle("named", run2.spec.labels);
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
    /** held: the subspace to mark, of what is chosen elsewhere. */
    draw(position, layer, raw, held = null) {
      const { run: run2 } = this;
      const i = Math.min(position, run2.count - 1);
      this.choice.value = String(Math.min(layer, run2.steps - 1));
      this.title.textContent = `at position ${i}`;
      set(this.raw, { "aria-pressed": String(raw) });
      this.list.replaceChildren(
        ...run2.spec.subspaces.flatMap((subspace, n) => {
          if (subspace.labels?.length === 0) return [];
          const value = run2.value(n, 2 * layer + 2, i);
          const changed2 = run2.changed(n, layer, i);
          const empty = value.coordinates.every((v) => v === 0);
          return [
            el(
              "li",
              { class: `${changed2 ? "changed" : ""} ${empty ? "empty" : ""} ${n === held ? "held" : ""}`, "data-subspace": subspace.name },
              el("span", { class: "mark" }, changed2 ? "◆" : ""),
              el("span", { class: "name", title: subspace.name }, ...symbol(run2, subspace.name)),
              el("span", { class: "mono words" }, words(run2, subspace, value, i)),
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
      const typeset = typesetter(run2.spec);
      const variables = model.variables.map((each) => [each.name, each.meaning, each.formula, each.source, each.stored ? this.writer(each.since) : "", each.read_by]);
      const heads = model.patterns.map((each) => [each.name || each.claim, each.meaning, each.formula, each.source]);
      const first = table("Variables, in the order in which they are computed", ["variable", "what it is", "equation", "source", "written by", "read by"], variables, typeset);
      this.rows = [...first.querySelectorAll("tbody tr")];
      this.element = el(
        "details",
        { class: "panel model-panel" },
        el("summary", {}, el("h2", {}, "The model ", el("span", {}, "every variable, its equation, and its readers"))),
        first,
        heads.length ? table("Where heads look", ["heads attend to", "which is", "equation", "source"], heads, typeset) : null
      );
    }
    model;
    run;
    store;
    element;
    rows;
    /** Mark the variables that a layer writes. */
    draw(layer) {
      const number3 = this.run.layerOf(layer) + 1;
      this.model.variables.forEach(({ stored, since }, n) => this.rows[n].classList.toggle("chosen", stored && since.layer === number3));
    }
    /** The button that chooses the layer which writes a variable. */
    writer({ layer, part }) {
      const name = layer === 0 ? "embedding" : `layer ${layer} (${this.run.spec.layers[layer - 1]?.name ?? ""}), ${part.replace("_", "-")}`;
      return el("button", { type: "button", class: "small", click: () => this.store.set({ layer: this.run.stepsWith(this.store.now.layer)[layer - 1] ?? -1 }) }, name);
    }
  };
  function table(caption, headings, rows, typeset) {
    const filled = headings.map((_, column3) => rows.some((row) => row[column3] !== ""));
    const kept = (cells2) => cells2.filter((_, column3) => filled[column3]);
    const head = el("tr", {}, ...kept(headings).map((heading) => el("th", { scope: "col" }, heading)));
    const body = rows.map((row) => el("tr", {}, ...kept(row).map((cell) => el("td", {}, ...typeof cell === "string" ? typeset(cell) : [cell]))));
    return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...body)));
  }

  // src/picture.ts
  var Picture = class extends Graph {
    constructor(run2, spec, buffers, redraw) {
      super(spec.name, spec.graph, buffers, redraw);
      this.run = run2;
      this.spec = spec;
      set(this.scroll, { "aria-label": `The ${spec.name}` });
    }
    run;
    spec;
    draw(position) {
      const { marks, name } = this.spec;
      const column3 = marks && this.run.spec.columns.find((each) => each.name === marks.column);
      if (!column3) return;
      const node = (i) => i < 0 ? marks.start : marks.nodes[this.run.rows.cell(column3.name, i)];
      const [before, now] = [node(position - 1), node(position)];
      this.unmark("now");
      this.nodes.get(now ?? "")?.classList.add("now");
      for (const edge of this.edges.get(`${before}->${now}`) ?? []) edge.classList.add("now");
      const said = `${column3.name} ${this.run.rows.cell(column3.name, position)}, after the token ${this.run.rows.fed(position)}`;
      this.caption.textContent = said;
      set(this.scroll, { "aria-label": `The ${name}: ${said}` });
    }
  };

  // src/rules.ts
  var MOST4 = 40;
  var RulesPanel = class {
    constructor(description, store) {
      this.description = description;
      this.store = store;
      const { run: run2, rules, tape, number: number3 } = description;
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
      set(this.said, { class: `lookup hue${number3 % 7}` });
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
      const kind2 = i >= this.description.run.spec.lead ? "symbol" : "";
      const act = () => this.store.set({ i, playing: false });
      const button = el("button", { type: "button", class: `prompt-token mono ${kind2}`, "data-token": i, "aria-label": `position ${i}: ${text}`, title: `position ${i}`, click: act }, text);
      this.tokens.set(i, button);
      return button;
    }
    says(lookup) {
      const { label: label2, number: number3 } = this.description;
      if (!lookup) return ["The machine has no state yet: no rule is looked up."];
      return [sample(number3), el("b", { class: "tag" }, label2), el("span", {}, ...lookedUp(lookup))];
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

  // src/sequence/why.ts
  function listed(positions2) {
    const runs = [];
    for (const p of positions2) {
      const last = runs.at(-1);
      if (last && last[1] === p - 1) last[1] = p;
      else runs.push([p, p]);
    }
    const texts = runs.map(([from, to]) => from === to ? String(from) : to === from + 1 ? `${from}, ${to}` : `${from}…${to}`);
    return texts.length > 8 ? `${texts.slice(0, 7).join(", ")}, …` : texts.join(", ");
  }
  function sign(node, { nodes }) {
    const always = (n) => n !== void 0 && nodes[n].operator === "always" && nodes[n].value;
    switch (node.operator) {
      case "input":
        return "in";
      case "place":
        return "i";
      case "text":
        return "“”";
      case "always":
        return node.value ? "⊤" : "⊥";
      case "choose":
        return "if";
      case "one of":
        return nodes[node.arguments[0]].operator === "input" && node.values.length === 1 ? "Q" : "∈";
      case "since":
        return always(node.arguments[0]) ? "once" : "since";
      case "until":
        return always(node.arguments[0]) ? "eventually" : "until";
      case "comparison":
        return { "<=": "≤", ">=": "≥", "==": "=", "!=": "≠" }[node.relation] ?? node.relation;
      case "predicate":
        return node.predicate === "power of 2" ? "2ᵏ" : node.predicate;
      case "retrieve":
        return node.choice === "latest" ? "▶" : "◀";
      default:
        return { same: "=", not: "¬", and: "∧", or: "∨", previous: "⊖", next: "⊕", "count left": "#←", "count right": "#→", sum: "+" }[node.operator] ?? node.operator;
    }
  }
  function reason(spec, { values, selected: selected3, letters: letters2 }, number3, i) {
    const { nodes } = spec;
    const node = nodes[number3];
    const n = letters2.length;
    const at = (which, p) => values[which][p - 1];
    const text = (which, p) => nodes[which].kind === "label" ? `'${shownAtom(at(which, p))}'` : shownAtom(at(which, p));
    const named = (which) => ({ code: nodes[which].name });
    const [first, second, third] = node.arguments;
    const here = (...which) => which.map((each) => [each, i]);
    const true_ = Boolean(at(number3, i));
    const truth2 = (which, p) => at(which, p) ? "true" : "false";
    const span = (which, positions2) => positions2.map((p) => [which, p]);
    switch (node.operator) {
      case "input":
        return { words: ["the token at ", String(i), " is ", { code: text(number3, i) }], cells: [] };
      case "place":
        return { words: [`the position is ${i}`], cells: [] };
      case "text":
      case "always":
        return { words: ["the same at every position"], cells: [] };
      case "one of":
        return { words: [named(first), " is ", { code: text(first, i) }, true_ ? ", " : ", not ", node.values.length > 1 ? "one of " : "", { code: node.values.map((value) => `'${value}'`).join(", ") }], cells: here(first) };
      case "same":
        return { words: [named(first), " is ", { code: text(first, i) }, " and ", named(second), " is ", { code: text(second, i) }], cells: here(first, second) };
      case "choose":
        return { words: [named(first), ` is ${truth2(first, i)}, so it is `, named(at(first, i) ? second : third)], cells: here(first, at(first, i) ? second : third) };
      case "not":
        return { words: [named(first), ` is ${truth2(first, i)}`], cells: here(first) };
      case "and":
      case "or": {
        const decides = node.operator === "or";
        const deciding = node.arguments.filter((part) => Boolean(at(part, i)) === decides);
        if (!deciding.length) return { words: [node.operator === "and" ? "all of its parts are true" : "none of its parts is true"], cells: here(...node.arguments) };
        const words2 = deciding.slice(0, 3).flatMap((part, k) => [k ? " and " : "", named(part)]);
        const more = deciding.length > 3 ? [` and ${deciding.length - 3} more`] : [];
        return { words: [...words2, ...more, ` ${deciding.length > 1 ? "are" : "is"} ${decides ? "true" : "false"}`], cells: here(...deciding) };
      }
      case "previous":
        return i === 1 ? { words: ["there is no position before the first"], cells: [] } : { words: [named(first), ` is ${truth2(first, i - 1)} at ${i - 1}`], cells: span(first, [i - 1]) };
      case "next":
        return i === n ? { words: ["there is no position behind the last"], cells: [] } : { words: [named(first), ` is ${truth2(first, i + 1)} at ${i + 1}`], cells: span(first, [i + 1]) };
      case "since":
      case "until":
        return nearest3(node, at, nodes, i, n);
      case "count left":
      case "count right": {
        const range = node.operator === "count left" ? between(1, i) : between(i, n);
        const there = range.filter((j) => at(first, j));
        return { words: there.length ? ["of the positions ", listed(range), ", ", named(first), " is true at ", listed(there)] : [named(first), " is true at none of ", listed(range)], cells: span(first, there) };
      }
      case "comparison":
        return { words: [{ code: `${text(first, i)} ${sign(node, spec)} ${text(second, i)}` }, true_ ? "" : " does not hold"], cells: here(first, second) };
      case "predicate":
        return { words: [named(first), " is ", { code: text(first, i) }, `, which is ${true_ ? "" : "not "}${predicateSaid(node)}`], cells: here(first) };
      case "sum": {
        const terms2 = node.arguments.map((term, k) => `${typeof node.factors[k] === "object" ? "…" : node.factors[k]}·${Number(at(term, i))}`);
        const constant = node.constant !== 0 ? [String(node.constant)] : [];
        return { words: [{ code: `${[...terms2, ...constant].join(" + ").replaceAll("+ -", "− ")} = ${text(number3, i)}` }], cells: here(...node.arguments) };
      }
      case "retrieve": {
        const there = selected3[number3][i - 1].flatMap((yes, k) => yes ? [k + 1] : []);
        const sight = between(1, n).filter((j2) => IN_SIGHT[node.sight](j2, i));
        const read4 = leaves(node.score);
        const j = node.choice === "latest" ? there.at(-1) : there[0];
        const sought = sight.length ? `of the positions in sight, ${listed(sight)}, ` : "no position is in sight, ";
        if (j === void 0) return { words: [sight.length ? `${sought}none is selected, so it is ` : `${sought}so it is `, named(node.default), ` here`], cells: here(node.default) };
        const cells2 = [[node.values, j], ...read4.key.map((k) => [k, j]), ...here(...read4.query)];
        return { words: [sought, `${listed(there)} ${there.length > 1 ? "are" : "is"} selected; the ${node.choice} is ${j}, where `, named(node.values), " is ", { code: text(node.values, j) }], cells: cells2 };
      }
      default:
        return { words: [], cells: [] };
    }
  }
  function nearest3(node, at, nodes, i, n) {
    const [left, right] = node.arguments;
    const since = node.operator === "since";
    const range = since ? between(1, i).reverse() : between(i, n);
    const free = nodes[left].operator === "always";
    const broken = range.find((k) => !at(left, k));
    const reached = range.filter((k) => broken === void 0 || (since ? k > broken : k < broken));
    const found = reached.find((j) => at(right, j));
    const [l, r] = [{ code: nodes[left].name }, { code: nodes[right].name }];
    const which = since ? "latest" : "earliest";
    const order2 = (positions2) => listed([...positions2].sort((a, b) => a - b));
    if (found !== void 0) {
      const way = reached.slice(0, reached.indexOf(found) + 1);
      const cells3 = [[right, found], ...free ? [] : way.map((k) => [left, k])];
      return { words: [`the ${which} position where `, r, ` is true is ${found}`, ...free ? [] : [", and ", l, ` is true at ${order2(way)}`]], cells: cells3 };
    }
    if (broken === void 0) return { words: [r, ` is true at none of ${order2(range)}`], cells: range.map((j) => [right, j]) };
    const cells2 = [[left, broken], ...reached.map((j) => [right, j])];
    if (!reached.length) return { words: [l, " is false here"], cells: cells2 };
    return { words: [l, ` is false at ${broken}, and `, r, ` is true at none of ${order2(reached)}, ${since ? "behind" : "before"} it`], cells: cells2 };
  }
  function predicateSaid({ predicate, modulus, remainder }) {
    if (predicate === "mod") return modulus === 2 ? remainder ? "odd" : "even" : `${remainder} modulo ${modulus}`;
    return { prime: "prime", square: "a square", "power of 2": "a power of 2" }[predicate];
  }
  function leaves(score) {
    if ("key" in score) return { key: [score.key], query: [] };
    if ("query" in score) return { key: [], query: [score.query] };
    if ("equal" in score) return { key: [score.equal[0]], query: [score.equal[1]] };
    const parts3 = ("not" in score ? [score.not] : "all" in score ? score.all : score.any).map(leaves);
    return { key: parts3.flatMap(({ key }) => key), query: parts3.flatMap(({ query }) => query) };
  }

  // src/sequence/formula.ts
  var FAR = 12;
  var FormulaPanel = class {
    constructor(run2, spec, store) {
      this.run = run2;
      this.spec = spec;
      this.store = store;
      const { before, after: after2 } = spec;
      const tokens = Array.from({ length: run2.count - before.length - after2.length }, (_, p) => this.fed(p + before.length));
      this.found = evaluate(spec, tokens);
      this.tree = treeOf(spec);
      this.heads = run2.spec.layers.flatMap(({ heads }, l) => heads.map((_, k) => `${l} ${k}`));
      const corner = el("span", { role: "columnheader", class: "formula-node" }, "subformula");
      this.columns = tokens.map(
        (token2, p) => el("span", { role: "columnheader", class: "formula-token", "data-position": p + before.length }, el("b", { class: "mono" }, this.shown(token2)), el("span", { class: "index" }, String(p + before.length)))
      );
      const header = el("div", { role: "row", class: "formula-row formula-header" }, corner, ...this.columns);
      const rows = this.tree.map((row, r) => this.treeRow(row, r, tokens.length));
      this.grid = el("div", { class: "formula-grid", role: "grid", "aria-label": "Every subformula at every position", "aria-rowcount": rows.length + 1, style: `--positions:${tokens.length}` }, header, ...rows);
      this.scroll = el("div", { class: "scroll formula-scroll" }, this.grid);
      this.grid.addEventListener("click", (event) => this.clicked(event));
      this.grid.addEventListener("keydown", (event) => this.pressed(event));
      this.element = el("section", { class: "panel formula-panel", "aria-label": `The ${spec.noun} at every position` }, el("h2", {}, `The ${spec.automaton ? "levels" : spec.noun}, at every position `, el("span", { class: "check" }, this.summary())), this.scroll, this.why);
    }
    run;
    spec;
    store;
    element;
    found;
    tree;
    grid;
    scroll;
    why = el("div", { class: "formula-why", "aria-live": "polite" });
    heads;
    /** By row and position of the word, from 0. */
    cells = [];
    columns = [];
    labels = [];
    lit = [];
    row = 0;
    followed = -1;
    /** Give the tree what room the positions leave, at least two fifths, and keep the chosen column in view. */
    measure() {
      const room = this.scroll.clientWidth - 2;
      const positions2 = this.columns.reduce((sum2, column3) => sum2 + column3.offsetWidth, 0);
      this.grid.style.setProperty("--tree", `${Math.max(Math.floor(0.42 * room), room - positions2)}px`);
      this.followed = -1;
    }
    draw(position, layer) {
      const { before, nodes } = this.spec;
      const p = Math.max(0, Math.min(position - before.length, this.columns.length - 1));
      const outside2 = position < before.length || position - before.length >= this.columns.length;
      const { node } = this.tree[this.row];
      this.mark(p, outside2, layer);
      const { words: words2, cells: cells2 } = reason(this.spec, this.found, node, p + 1);
      for (const [which, at] of outside2 ? [] : cells2) this.light(which, at - 1, "reads");
      const heads = outside2 ? [] : nodes[node].heads.map((place) => this.looked(place, p + before.length));
      for (const { hue, attended } of heads.slice(0, 1))
        for (const j of attended.length > FAR ? [] : attended) {
          const column3 = this.columns[j - before.length];
          if (column3) this.add(column3, `seen ${hue}`);
        }
      this.why.replaceChildren(...outside2 ? this.ends(position) : this.said(node, p, words2, heads));
      this.follow(p);
    }
    // ── what is drawn once ──
    treeRow({ node, depth, again }, r, n) {
      const spec = this.spec.nodes[node];
      const named = spec.variable || spec.name;
      const title = again ? `${spec.text}: the same part as above` : spec.variable ? `${spec.variable} = ${spec.text}` : spec.text;
      const label2 = el(
        "span",
        { role: "rowheader", class: `formula-node${again ? " again" : ""}`, title },
        ...Array.from({ length: depth }, () => el("i", { class: "guide", "aria-hidden": "true" })),
        el("span", { class: "operator" }, sign(spec, this.spec)),
        el("span", { class: `mono formula-text${spec.variable ? " defined" : ""}` }, named)
      );
      this.labels.push(label2);
      this.cells.push(Array.from({ length: n }, (_, p) => this.cell(node, spec, r, p)));
      return el("div", { role: "row", class: `formula-row${depth === 0 ? " root" : ""}`, "aria-rowindex": r + 2, "data-node": node }, label2, ...this.cells.at(-1));
    }
    cell(node, { kind: kind2 }, row, p) {
      const text = this.found.texts[node][p];
      const wrong = this.wrong(node, p);
      const at = p + this.spec.before.length;
      const look = kind2 === "bit" ? text === "T" ? "yes" : "no" : kind2;
      const said = wrong === null ? null : `the weights say ${wrong}, the evaluator ${text}`;
      return el(
        "span",
        { role: "gridcell", class: `formula-cell mono ${look}${wrong === null ? "" : " bad"}`, tabindex: -1, "data-row": row, "data-position": at, title: said, "aria-label": said && `${text}: ${said}` },
        this.shown(text),
        wrong === null ? null : el("span", { class: "due" }, `✗ ${wrong}`)
      );
    }
    /** What the weights answer instead of a value; null where that is right, or where they do not answer it. */
    wrong(node, p) {
      const { outputs, before } = this.spec;
      const k = outputs.findIndex((output) => output.node === node);
      const heading = this.run.spec.columns[k + 1];
      if (k < 0 || !heading) return null;
      const i = p + before.length;
      const value = this.found.values[node][p];
      const right = heading.number && typeof value !== "string" ? this.run.rows.number(heading.name, i) === nearest(value) : this.run.rows.text(heading.name, i) === this.shown(this.found.texts[node][p]);
      return right ? null : this.run.rows.cell(heading.name, i);
    }
    summary() {
      const { tree, columns, cells: cells2 } = this;
      const bad = cells2.flat().filter((cell) => cell.classList.contains("bad")).length;
      const size = `${new Set(tree.map(({ node }) => node)).size} subformulas × ${columns.length} positions`;
      return bad ? `${size}: ${bad} ${bad === 1 ? "cell differs" : "cells differ"} from the evaluator` : `${size}; the weights agree`;
    }
    /** A text as tables show it. */
    shown(text) {
      const { shown: shown2 } = this.run.spec.live;
      return Object.hasOwn(shown2, text) ? shown2[text] : text;
    }
    /** The token at a position of the run, as the alphabet has it. */
    fed(i) {
      const token2 = this.run.rows.fed(i);
      return this.spec.alphabet.find((letter) => this.shown(letter) === token2) ?? token2;
    }
    // ── what is drawn at every step ──
    mark(p, outside2, layer) {
      for (const element of this.lit) element.className = element.dataset["plain"];
      this.lit = [];
      const focused = this.grid.querySelector("[tabindex='0']");
      if (focused) set(focused, { tabindex: -1, "aria-selected": null });
      if (outside2) return;
      this.add(this.columns[p], "now");
      for (const row of this.cells) this.add(row[p], "now");
      this.add(this.labels[this.row], "chosen");
      this.tree.forEach(({ node }, r) => {
        if (this.spec.nodes[node].heads.some(([each]) => each === layer)) this.add(this.labels[r], "of-layer");
      });
      const chosen = this.cells[this.row][p];
      this.add(chosen, "chosen");
      set(chosen, { tabindex: 0, "aria-selected": "true" });
      if (this.grid.contains(document.activeElement)) chosen.focus({ preventScroll: true });
    }
    light(node, p, how) {
      this.tree.forEach((row, r) => {
        if (row.node === node) this.add(this.cells[r][p], how);
      });
    }
    add(element, how) {
      element.dataset["plain"] ??= element.className;
      element.className += ` ${how}`;
      this.lit.push(element);
    }
    /** Where a head looks from a position of the run. */
    looked([layer, head], i) {
      const look = this.run.look(layer, head, i);
      const attended = look.uniform ? Array.from({ length: look.count }, (_, k) => look.winner + k) : look.sharers;
      return { label: `${layer + 1}.${head + 1}`, hue: `hue${Math.max(0, this.heads.indexOf(`${layer} ${head}`)) % 7}`, attended, layer };
    }
    said(node, p, words2, heads) {
      const { name, text, variable, kind: kind2 } = this.spec.nodes[node];
      const at = p + this.spec.before.length;
      const wrong = this.wrong(node, p);
      const value = this.found.texts[node][p];
      const said = kind2 === "bit" ? value === "T" ? "true" : "false" : this.shown(value);
      const code2 = (text2) => el("code", {}, this.shown(text2));
      const first = el("p", { class: "story" }, code2(variable || name), ` is `, el("b", {}, said), ` at ${at}: `, ...words2.map((word) => typeof word === "string" ? word : code2(word.code)), ".");
      const looks4 = heads.map(
        ({ label: label2, hue, attended }) => el("p", { class: `look ${hue}` }, el("b", { class: "tag" }, label2), el("span", {}, `the head looks at ${attended.length > 1 ? "positions" : "position"} `, el("b", { class: "where" }, listed(attended))))
      );
      const whole3 = text !== name && text !== variable ? el("p", { class: "meaning mono" }, variable ? `${variable} = ${text}` : text) : null;
      const bad = wrong === null ? null : el("p", { class: "bad" }, `✗ The weights say ${wrong} here.`);
      return [first, bad, ...looks4, whole3].filter((part) => part !== null);
    }
    ends(position) {
      const token2 = this.run.rows.fed(position);
      return [el("p", { class: "story" }, `Position ${position} is ${token2}, outside the word: choose a position of the word to see why a part is true or false there.`)];
    }
    follow(p) {
      if (p === this.followed) return;
      this.followed = p;
      const [column3, label2] = [this.columns[p], this.labels[0]];
      const [left, right] = [column3.offsetLeft - label2.offsetWidth, column3.offsetLeft + column3.offsetWidth];
      const { scrollLeft, clientWidth } = this.scroll;
      if (left < scrollLeft) this.scroll.scrollLeft = left;
      else if (right > scrollLeft + clientWidth) this.scroll.scrollLeft = right - clientWidth;
    }
    // ── what is chosen ──
    clicked({ target }) {
      const cell = target.closest("[data-position]");
      if (cell) this.choose(Number(cell.dataset["row"] ?? this.row), Number(cell.dataset["position"]));
    }
    /** Choose a cell: the position, and the layer of the head that computes it. */
    choose(row, i, layer = true) {
      this.row = row;
      const { heads } = this.spec.nodes[this.tree[row].node];
      this.store.set({ i, playing: false, ...layer && heads[0] ? { layer: heads[0][0] } : {} });
    }
    pressed(event) {
      const cell = event.target.closest("[data-row]");
      if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
      const [row, p] = [this.row, this.store.now.i - this.spec.before.length];
      const [rows, positions2] = [this.tree.length - 1, this.columns.length - 1];
      const places = {
        ArrowLeft: [row, p - 1],
        ArrowRight: [row, p + 1],
        ArrowUp: [row - 1, p],
        ArrowDown: [row + 1, p],
        Home: [row, 0],
        End: [row, positions2],
        Enter: [row, p],
        " ": [row, p]
      };
      const place = places[event.key];
      if (!place) return;
      event.preventDefault();
      event.stopPropagation();
      const [r, q] = [Math.max(0, Math.min(rows, place[0])), Math.max(0, Math.min(positions2, place[1]))];
      this.choose(r, q + this.spec.before.length, event.key === "Enter" || event.key === " ");
    }
  };
  function plain2({ operator, arguments: parts3 }) {
    return operator === "always" || operator === "text" || operator === "input" || operator === "sum" && !parts3.length;
  }
  function treeOf({ nodes, root: root2 }) {
    const rows = [];
    const met = /* @__PURE__ */ new Set();
    const waiting = [[root2, 0]];
    while (waiting.length) {
      const [node, depth] = waiting.pop();
      const parts3 = [...new Set(nodes[node].arguments)].filter((part) => !plain2(nodes[part]));
      const again = met.has(node) && parts3.length > 0;
      met.add(node);
      rows.push({ node, depth, again });
      if (!again) waiting.push(...parts3.reverse().map((part) => [part, depth + 1]));
    }
    return rows;
  }

  // src/sequence/scheme.ts
  var Scheme = class {
    constructor(spec) {
      this.spec = spec;
      const { nodes } = spec;
      const first = /* @__PURE__ */ new Map();
      this.standsFor = nodes.map(({ kind: kind2, box, name }, n) => {
        if (!box || kind2 !== "sop") return null;
        if (!first.has(name)) first.set(name, n);
        return first.get(name);
      });
      this.has = this.standsFor.map((row, n) => row === n);
      nodes.forEach((node, n) => {
        if (node.operator === "aggregate" && this.has[n]) this.has[node.arguments[0]] = true;
      });
      this.layers = [];
      for (const node of nodes) {
        this.layers.push(this.since(node));
        this.ended.push(node.operator === "looped" || node.kind !== "loop" && node.arguments.some((part) => this.ended[part]));
      }
      const layers = [...new Set(this.layers.filter((_, n) => this.has[n]))].sort((a, b) => a - b);
      this.bands = layers.map((layer) => ({ layer, rows: this.inside(layer) }));
      this.rows = this.bands.flatMap((band) => band.rows);
      this.edges = [...this.rows.flatMap((row) => this.into(row)), ...nodes.flatMap((node) => this.again(node))];
    }
    spec;
    bands;
    edges;
    /** The nodes with rows, from top to bottom. */
    rows;
    has;
    /** By node the row that stands for an s-op with a place of its own. */
    standsFor;
    layers;
    /** Whether a node is made of what a loop leaves. */
    ended = [];
    /** The layer of the weights after which a node is known, from 0; -1: from the embedding on. */
    layer(number3) {
      return this.layers[number3];
    }
    /** Whether a node is made of what a loop leaves, so that it is known after the last pass. */
    afterLoop(number3) {
      return this.ended[number3];
    }
    /** Whether a node has a row. */
    row(number3) {
      return this.has[number3];
    }
    /** The heads of the weights that look where a selector selects, or where that of an aggregate does: layer and head, from 0. */
    heads(number3) {
      const selector = this.selector(number3);
      if (selector === null) return [];
      const own = this.spec.nodes[selector].heads;
      return own.length ? own : this.spec.nodes[number3].heads;
    }
    /** A selector itself, or that of an aggregate; null of other nodes. */
    selector(number3) {
      const node = this.spec.nodes[number3];
      if (node.kind === "selector") return number3;
      return node.operator === "aggregate" ? node.arguments[0] : null;
    }
    /** The s-ops that a selector compares, as they are written: keys and queries, each once and without constants. */
    compared(selector) {
      const { nodes } = this.spec;
      const [keys2, queries] = [/* @__PURE__ */ new Set(), /* @__PURE__ */ new Set()];
      const visit = (number3) => {
        const node = nodes[number3];
        if (node.operator !== "select") return node.arguments.forEach(visit);
        const [key, query] = node.arguments;
        if (nodes[key].operator !== "constant") keys2.add(key);
        if (nodes[query].operator !== "constant") queries.add(query);
      };
      visit(selector);
      return { keys: [...keys2], queries: [...queries] };
    }
    /** The aggregates with rows of a selector. */
    aggregates(selector) {
      return this.rows.filter((row) => row !== selector && this.selector(row) === selector);
    }
    /** The edges to a row: from the rows that it is made of. */
    into(to) {
      const node = this.spec.nodes[to];
      const from = (numbers, role) => this.behind(numbers).map((number3) => ({ from: number3, to, role }));
      if (node.kind === "selector") {
        const { keys: keys2, queries } = this.compared(to);
        return [...from(keys2, "key"), ...from(queries, "query")];
      }
      if (node.operator === "aggregate") return [{ from: node.arguments[0], to, role: "selector" }, ...from([node.arguments[1]], "value")];
      return from(parts2(node), "part");
    }
    /** The edges of a loop: from what a pass makes to what the next one begins with. */
    again(node) {
      if (node.operator !== "repeat") return [];
      return node.states.flatMap((to, n) => this.has[to] ? this.behind([node.nexts[n]]).filter((from) => from !== to).map((from) => ({ from, to, role: "again" })) : []);
    }
    /** The rows that nodes stand for: their own, or those of what they are made of; each once. */
    behind(numbers) {
      const found = /* @__PURE__ */ new Set();
      const visit = (number3) => {
        const row = this.has[number3] ? number3 : this.standsFor[number3];
        if (row !== null) found.add(row);
        else parts2(this.spec.nodes[number3]).forEach(visit);
      };
      numbers.forEach(visit);
      return [...found].sort((a, b) => a - b);
    }
    /** The cells that a cell is made of: the other end of each edge, and the position there. */
    sources({ node, at }, { selected: selected3 }) {
      const selector = this.selector(node);
      const row = selector === null ? [] : selected3[selector][at];
      return this.into(node).flatMap((edge) => {
        if (edge.role !== "key" && edge.role !== "value") return [{ ...edge, at }];
        return row.flatMap((on, k) => on ? [{ ...edge, at: k }] : []);
      });
    }
    /** All cells that a cell depends on. */
    upstream(place, evaluated2) {
      const found = /* @__PURE__ */ new Map();
      const waiting = [place];
      for (let here = waiting.pop(); here; here = waiting.pop())
        for (const { from, at } of this.sources(here, evaluated2)) {
          const name = `${from}:${at}`;
          if (found.has(name)) continue;
          found.set(name, { node: from, at });
          waiting.push({ node: from, at });
        }
      return [...found.values()];
    }
    since(node) {
      if (node.heads.length) return Math.max(...node.heads.map(([layer]) => layer));
      if (node.operator === "aggregate" && this.spec.nodes[node.arguments[0]].heads.length) return this.layers[node.arguments[0]];
      return node.since ?? Math.max(-1, ...node.arguments.map((part) => this.layers[part] ?? -1));
    }
    /** The rows of a layer: each selector before what it aggregates, anything after what it is made of. */
    inside(layer) {
      const here = this.layers.flatMap((own, number3) => own === layer && this.has[number3] ? [number3] : []);
      const order2 = here.flatMap((number3) => this.spec.nodes[number3].kind === "selector" ? [number3, ...here.filter((each) => this.spec.nodes[each].operator === "aggregate" && this.selector(each) === number3)] : []);
      return [...order2, ...here.filter((number3) => !order2.includes(number3))];
    }
  };
  function parts2(node) {
    return node.operator === "looped" ? [node.arguments[1]] : node.arguments;
  }
  function kindOf(node, values) {
    if (node.kind === "selector") return "selector";
    if (typeof values[0] === "string") return "token";
    return values.every((value) => typeof value === "boolean") && !node.numeric ? "truth" : "number";
  }
  function sizeOf(value) {
    return typeof value === "string" ? null : Math.abs(nearest(value));
  }

  // src/sequence/flow.ts
  var ROW = 36;
  var HIGH = 26;
  var HEAD = 36;
  var LEAST = 26;
  var MOST5 = 46;
  var WIDEST = 78;
  var CHARACTER = 7.4;
  var DOT = 12;
  var BARS = 48;
  var ROLES = [["key", "keys"], ["query", "queries"], ["value", "values"], ["part", "same position"], ["again", "next pass"]];
  var FlowPanel = class {
    constructor(program, store) {
      this.program = program;
      this.store = store;
      let y = 0;
      for (const { layer, rows } of program.scheme.bands) {
        const button = el(
          "button",
          { type: "button", class: "flow-band", "aria-pressed": "false", style: `top:${y}px`, click: () => store.set({ layer: program.step(layer, store.now.layer), playing: false }) },
          el("span", { class: "number" }, String(layer + 1)),
          program.title(layer)
        );
        this.bands.set(layer, button);
        this.names.append(button);
        y += HEAD;
        for (const row of rows) {
          this.middle.set(row, y + ROW / 2);
          this.names.append(this.name(row, y));
          y += ROW;
        }
      }
      this.height = y + 4;
      this.names.prepend(this.arcs);
      this.names.style.height = `${this.height}px`;
      this.scroll.append(el("div", { class: "flow-score" }, el("div", { class: "flow-corner" }), this.heading, this.names, this.tape));
      this.scroll.addEventListener("keydown", (event) => this.key(event));
      this.tape.addEventListener("mousemove", (event) => this.light(this.under(event)));
      this.tape.addEventListener("mouseleave", () => this.light(null));
      this.tape.addEventListener("click", (event) => {
        const place = this.under(event);
        if (place) store.set({ node: place.node, i: program.position(place.at), playing: false });
      });
      const legend = ROLES.filter(([role]) => program.scheme.edges.some((edge) => edge.role === role)).map(([role, name]) => el("span", { class: `flow-role of-${role}` }, name));
      this.element = el(
        "section",
        { class: "panel flow-panel", "aria-label": "The flow of the computation" },
        el("h2", {}, "The flow of the computation ", el("span", {}, program.about)),
        this.scroll,
        this.said,
        el("p", { class: "flow-key" }, ...legend, el("span", { class: "hint" }, "click a name to see how it is made; ↑ ↓ along the arcs, ← → row by row, Enter chooses"))
      );
    }
    program;
    store;
    element;
    scroll = el("div", { class: "scroll flow" });
    heading = svg("svg", { class: "flow-positions", "aria-hidden": "true" });
    names = el("div", { class: "flow-names" });
    arcs = svg("svg", { class: "flow-arcs", "aria-hidden": "true" });
    tape = svg("svg", { class: "flow-tape", "aria-hidden": "true" });
    said = el("p", { class: "flow-said mono" });
    lines = svg("g", {});
    marks = svg("g", {});
    column = svg("rect", { class: "flow-column" });
    buttons = /* @__PURE__ */ new Map();
    bands = /* @__PURE__ */ new Map();
    cells = /* @__PURE__ */ new Map();
    edges = [];
    /** The middle of each row, from the top. */
    middle = /* @__PURE__ */ new Map();
    height;
    wide = 0;
    drawn = null;
    shown = null;
    /** Lay out the cells in the width that there is. */
    measure() {
      const { names, scroll, program } = this;
      this.drawn = null;
      names.style.width = "";
      const spare = scroll.clientWidth - names.offsetWidth - program.count * MOST5 - 16;
      if (spare > 0) names.style.width = `${Math.min(names.offsetWidth + spare, 380)}px`;
      this.drawArcs();
    }
    draw(now) {
      const { program } = this;
      if (this.drawn !== program.evaluated) this.build();
      const here = program.place(now);
      const lit = now.lit;
      const near2 = /* @__PURE__ */ new Set();
      for (const { edge, group } of this.edges) {
        const touches = edge.from === here.node || edge.to === here.node;
        group.classList.toggle("near", touches);
        if (touches) near2.add(edge.from).add(edge.to);
      }
      const chosen = program.chosen(now);
      for (const [row, button] of this.buttons) {
        const classes = { ...program.known(row, now), chosen: row === chosen, lit: row === lit?.node, near: near2.has(row) };
        for (const [name, on] of Object.entries(classes)) for (const part of [button, this.cells.get(row)]) part.classList.toggle(name, on);
        set(button, { "aria-pressed": String(row === chosen), tabindex: row === chosen ? 0 : -1 });
      }
      const layer = program.layer(now.layer);
      for (const [number3, button] of this.bands) {
        button.classList.toggle("chosen", number3 === layer);
        set(button, { "aria-pressed": String(number3 === layer) });
      }
      set(this.column, { x: here.at * this.wide });
      this.said.textContent = program.because(here);
      this.scroll.classList.toggle("playing", now.playing);
      this.trace(here);
      if (chosen === this.shown) return;
      this.shown = chosen;
      this.show(chosen);
    }
    /** Bring a row into view, in the panel alone. */
    show(row) {
      const { scroll, heading } = this;
      const [top, bottom] = [this.middle.get(row) - ROW - HEAD / 2, this.middle.get(row) + ROW];
      const high = scroll.clientHeight - heading.clientHeight;
      if (top < scroll.scrollTop) scroll.scrollTop = top;
      else if (bottom > scroll.scrollTop + high) scroll.scrollTop = bottom - high;
    }
    name(row, y) {
      const { program, store } = this;
      const { name } = program.node(row);
      const button = el(
        "button",
        {
          type: "button",
          class: `sop kind-${program.kind(row)}${program.isOutput(row) ? " output" : ""}`,
          style: `top:${y}px`,
          "data-node": row,
          "aria-pressed": "false",
          title: name,
          click: () => store.set({ node: row }),
          mouseenter: () => this.light({ node: row, at: program.place(store.now).at }),
          mouseleave: () => this.light(null)
        },
        ...program.kind(row) === "selector" ? program.tags(row) : [],
        el("span", { class: "sop-name" }, name)
      );
      this.buttons.set(row, button);
      return button;
    }
    /** Draw the cells of all rows. */
    build() {
      const { program, height } = this;
      const { count: count2, scheme } = program;
      this.drawn = program.evaluated;
      const room = this.scroll.clientWidth - this.names.offsetWidth - 10;
      const widest = Math.max(1, ...scheme.rows.flatMap((row) => program.texts(row).map((text) => text.length)));
      const least = Math.min(WIDEST, Math.max(LEAST, widest * CHARACTER + 8));
      const wide = Math.max(least, Math.min(Math.max(MOST5, least), Math.floor(room / count2)));
      this.wide = wide;
      const width = count2 * wide + 4;
      set(this.tape, { width, height, viewBox: `0 0 ${width} ${height}` });
      set(this.heading, { width, height: 20, viewBox: `0 0 ${width} 20` });
      this.heading.replaceChildren(...Array.from({ length: count2 }, (_, i) => svg("text", { x: (i + 0.5) * wide, y: 14, "text-anchor": "middle" }, String(i))));
      set(this.column, { y: 0, width: wide, height });
      for (const row of scheme.rows) {
        this.cells.set(row, this.row(row));
        set(this.buttons.get(row), { "aria-label": program.said(row) });
      }
      this.tape.replaceChildren(this.column, this.marks, this.lines, ...this.cells.values());
    }
    row(row) {
      const { program, wide } = this;
      const kind2 = program.kind(row);
      const group = svg("g", { "data-node": row, class: `flow-cells kind-${kind2}${program.isOutput(row) ? " output" : ""}`, transform: `translate(0 ${this.middle.get(row) - HIGH / 2})` });
      if (kind2 === "selector") {
        program.selected(row).forEach((keys2, q) => group.append(svg("g", { transform: `translate(${q * wide} 0)` }, ...this.bars(keys2))));
        return group;
      }
      const selector = program.scheme.selector(row);
      const sizes = program.evaluated.values[row].map(sizeOf);
      const largest2 = Math.max(...sizes.map((size) => size ?? 0), 1e-9);
      program.texts(row).forEach((text, q) => group.append(svg("g", { transform: `translate(${q * wide} 0)` }, ...this.cell(text, kind2, kind2 === "number" ? sizes[q] / largest2 : 0, selector !== null && !program.selected(selector)[q].includes(true)))));
      return group;
    }
    /** share: how large the value is beside the largest of the row; fallback: whether it is there because nothing is selected. */
    cell(text, kind2, share, fallback) {
      const { wide, program } = this;
      const hue = kind2 === "token" ? program.hue(text) : null;
      const frame = svg("rect", { class: `frame${hue === null ? "" : ` hue${hue} tinted`}${kind2 === "truth" && text === "T" ? " yes" : ""}${fallback ? " fallback" : ""}`, x: 2, width: wide - 4, height: HIGH, rx: 5 });
      const tall = Math.round((HIGH - 4) * share);
      const bar = tall ? svg("rect", { class: "bar", x: 4, y: HIGH - 2 - tall, width: wide - 8, height: tall, rx: 2 }) : null;
      return [frame, ...bar ? [bar] : [], this.label(text)];
    }
    label(text) {
      const { wide } = this;
      const tight = text.length * CHARACTER > wide - 6 ? { textLength: wide - 8, lengthAdjust: "spacingAndGlyphs" } : {};
      return svg("text", { x: wide / 2, y: HIGH / 2 + 4.5, "text-anchor": "middle", ...tight }, text);
    }
    /** A selector's cell: the tape in small, filled where it is selected; of a long tape the number of selected positions. */
    bars(keys2) {
      const { wide } = this;
      const frame = svg("rect", { class: "frame", x: 2, width: wide - 4, height: HIGH, rx: 5 });
      if (keys2.length > BARS) return [frame, this.label(String(keys2.filter(Boolean).length))];
      const step = (wide - 9) / keys2.length;
      const thick = step > 2.5 ? step - 0.8 : step * 0.85;
      const path = (on) => keys2.flatMap((key, k) => key === on ? [`M${(4.5 + k * step).toFixed(2)} 5h${thick.toFixed(2)}v${HIGH - 10}h${(-thick).toFixed(2)}z`] : []).join("");
      return [frame, svg("path", { class: "off", d: path(false) }), svg("path", { class: "on", d: path(true) })];
    }
    /** The arcs between rows, left of their names. */
    drawArcs() {
      const { scheme } = this.program;
      const { height } = this;
      const room = parseFloat(getComputedStyle(this.names.querySelector(".sop")).paddingLeft);
      const x = room - DOT;
      set(this.arcs, { width: room, height, viewBox: `0 0 ${room} ${height}` });
      this.edges.length = 0;
      const length = (edge) => this.middle.get(edge.to) - this.middle.get(edge.from);
      const farthest = Math.max(...scheme.edges.map((edge) => Math.abs(length(edge))), 1);
      const shift = { key: -4, query: 4, value: 0, selector: -3, part: 0, again: 0 };
      for (const edge of [...scheme.edges].sort((a, b) => Math.abs(length(b)) - Math.abs(length(a)))) {
        const from = this.middle.get(edge.from);
        const to = this.middle.get(edge.to) + shift[edge.role];
        const depth = (12 + (x - 14) * Math.sqrt(Math.abs(length(edge)) / farthest)) * 1.3;
        const line = svg("path", { class: "line", d: `M${x} ${from}C${x - depth} ${from} ${x - depth} ${to} ${x - 8} ${to}` });
        const tip2 = svg("path", { class: "tip", d: `M${x - 10} ${to - 3.5}L${x - 3} ${to}L${x - 10} ${to + 3.5}Z` });
        this.edges.push({ edge, group: svg("g", { class: `flow-edge of-${edge.role}` }, line, tip2) });
      }
      const dots = scheme.rows.map((row) => svg("circle", { class: `flow-dot kind-${this.program.kind(row)}`, cx: x, cy: this.middle.get(row), r: 4 }));
      this.arcs.replaceChildren(...this.edges.map(({ group }) => group), ...dots);
    }
    /** Draw where a cell comes from: lines from the cells that it is made of, and a mark on all that it depends on. */
    trace(here) {
      const { wide, middle, program } = this;
      const sources = program.scheme.sources(here, program.evaluated);
      const direct = new Map(sources.map((source) => [`${source.from}:${source.at}`, source]));
      const mark2 = (node, at, kind2) => svg("rect", { class: `flow-mark ${kind2}`, x: at * wide, y: middle.get(node) - HIGH / 2 - 2, width: wide, height: HIGH + 4, rx: 7 });
      this.marks.replaceChildren(
        ...program.scheme.upstream(here, program.evaluated).filter(({ node, at }) => !direct.has(`${node}:${at}`)).map(({ node, at }) => mark2(node, at, "far")),
        ...[...direct.values()].map(({ from, at, role }) => mark2(from, at, `of-${role}`)),
        mark2(here.node, here.at, "here")
      );
      this.lines.replaceChildren(
        ...sources.map(({ from, at, role }) => {
          const [x0, x1] = [(at + 0.5) * wide, (here.at + 0.5) * wide];
          const [y0, y1] = [middle.get(from), middle.get(here.node)];
          if (at !== here.at) {
            const bend = Math.max(8, (y1 - y0 - HIGH) / 2);
            return svg("path", { class: `flow-line of-${role}`, d: `M${x0} ${y0 + HIGH / 2 + 2}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1 - HIGH / 2 - 2}` });
          }
          const edge = (here.at + 1) * wide;
          return svg("path", { class: `flow-line of-${role}`, d: `M${edge - 2} ${y0}Q${edge + 3} ${y0} ${edge + 3} ${y0 + 6}V${y1 - 6}Q${edge + 3} ${y1} ${edge - 2} ${y1}` });
        })
      );
    }
    /** The row and the position under the mouse. */
    under(event) {
      const box = this.tape.getBoundingClientRect();
      const at = Math.floor((event.clientX - box.left) / this.wide);
      const y = event.clientY - box.top;
      if (at < 0 || at >= this.program.count) return null;
      for (const [node, middle] of this.middle) if (Math.abs(y - middle) <= ROW / 2) return { node, at };
      return null;
    }
    light(lit) {
      const now = this.store.now.lit;
      if (lit?.node !== now?.node || lit?.at !== now?.at) this.store.set({ lit });
    }
    /** Move the focus along the arcs, or from row to row. */
    key(event) {
      const { rows } = this.program.scheme;
      const edges = this.program.scheme.edges.filter(({ role }) => role !== "again");
      const place = rows.findIndex((row) => this.buttons.get(row) === document.activeElement);
      if (place < 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const here = rows[place];
      const before = () => Math.max(...edges.filter((edge) => edge.to === here).map((edge) => rows.indexOf(edge.from)), -1);
      const after2 = () => Math.min(...edges.filter((edge) => edge.from === here).map((edge) => rows.indexOf(edge.to)), rows.length);
      const keys2 = { ArrowUp: before, ArrowDown: after2, ArrowLeft: () => place - 1, ArrowRight: () => place + 1, Home: () => 0, End: () => rows.length - 1 };
      const find = keys2[event.key];
      if (!find) return;
      event.preventDefault();
      const next = rows[find()];
      if (next === void 0) return;
      this.buttons.get(next).focus();
      this.light({ node: next, at: this.program.place(this.store.now).at });
    }
  };

  // src/sequence/program.ts
  var LISTED = 10;
  var Program = class {
    /** word: the tokens of the input. */
    constructor(spec, run2, word) {
      this.spec = spec;
      this.run = run2;
      this.word = word;
      this.scheme = new Scheme(spec);
      this.lines = spec.source.trimEnd().split("\n");
      this.evaluated = this.whole = evaluate(spec, word);
      this.kinds = spec.nodes.map((node, n) => kindOf(node, this.evaluated.values[n]));
    }
    spec;
    run;
    word;
    scheme;
    /** The lines of its text. */
    lines;
    kinds;
    whole;
    /** By loop and pass, what every node is if the loop ends after it. */
    after = /* @__PURE__ */ new Map();
    /** What every node is, in the chosen pass of a loop. */
    evaluated;
    /** The number of positions of the input. */
    get count() {
      return this.word.length;
    }
    /** The position of the run at which position `at` of the input is. */
    position(at) {
      return this.spec.before.length + at;
    }
    /** What is computed, in a line. */
    get about() {
      const heads = this.scheme.rows.filter((row) => this.kind(row) === "selector").length;
      const depth = Math.max(0, ...this.spec.nodes.map((node) => node.depth));
      return `depth ${depth}, ${count(heads, "head")}`;
    }
    node(number3) {
      return this.spec.nodes[number3];
    }
    kind(number3) {
      return this.kinds[number3];
    }
    /** The values of a node as the table shows them, blanks visible. */
    texts(number3) {
      return (this.evaluated.texts[number3] ?? []).map((text) => text.replaceAll(" ", "␣"));
    }
    selected(number3) {
      return this.evaluated.selected[number3];
    }
    /** Whether it is what the program computes. */
    isOutput(number3) {
      return this.spec.root === number3;
    }
    /** The hue of a text among the tokens; null: it is none of them. */
    hue(text) {
      const letter = this.spec.alphabet.indexOf(text);
      return letter < 0 ? null : letter % 7;
    }
    /** A row in words, for screen readers. */
    said(row) {
      const { name } = this.node(row);
      return this.kind(row) === "selector" ? `selector ${name}` : `${name}: ${this.texts(row).join(" ")}`;
    }
    /** Why a cell is what it is, in a line. */
    because({ node: number3, at }) {
      const node = this.node(number3);
      const here = `${node.name} at ${at}`;
      const selector = this.scheme.selector(number3);
      const text = this.texts(number3)[at];
      const list = (all) => (all.length > LISTED ? [...all.slice(0, LISTED), "…"] : all).join(", ");
      if (selector === null) {
        const parts3 = this.scheme.into(number3).map(({ from }) => `${this.node(from).name} = ${this.texts(from)[at]}`);
        return parts3.length ? `${here} = ${node.text} = ${text}, where ${list(parts3)}` : `${here} = ${text}`;
      }
      const keys2 = this.selected(selector)[at].flatMap((on, k) => on ? [k] : []);
      const places = list(keys2.map(String));
      if (node.kind === "selector") {
        if (node.operator !== "select") return `${here} selects ${places || "nothing"}`;
        const [key, query] = node.arguments;
        return `${here} selects ${places || "nothing"}: the positions where ${this.node(key).name} ${node.relation} ${this.texts(query)[at]}`;
      }
      const values = node.arguments[1];
      const { name } = this.node(values);
      if (!keys2.length) return `${here} = ${text}, the default: ${this.node(selector).name} selects nothing there`;
      if (keys2.length === 1) return `${here} = ${name} at ${places} = ${text}`;
      return `${here} = the mean of ${name} at ${places} = the mean of ${list(keys2.map((k) => this.texts(values)[k]))} = ${text}`;
    }
    /** The numbers of the heads that compute a selector, in their hues. */
    tags(row) {
      return this.scheme.heads(row).map(([layer, head]) => el("b", { class: `tag hue${this.number(layer, head) % 7}` }, `${layer + 1}.${head + 1}`));
    }
    /** Where the heads of the selector of a node look, in the chosen pass. */
    looks(node, { layer: step }) {
      const steps = this.run.stepsWith(step);
      return this.scheme.heads(node).map(([layer, head]) => ({
        label: `${layer + 1}.${head + 1}`,
        hue: this.number(layer, head) % 7,
        keys: this.word.map((_, at) => {
          const { uniform, sight, sharers } = this.run.look(steps[layer], head, this.position(at));
          const looked = (j) => uniform ? sight[0] <= j && j < sight[1] : sharers.includes(j);
          return this.word.flatMap((_2, k) => looked(this.position(k)) ? [k] : []);
        })
      }));
    }
    /** The number of a head among those of all layers. */
    number(layer, head) {
      return this.run.spec.layers.slice(0, layer).reduce((sum2, { heads }) => sum2 + heads.length, head);
    }
    // ── layers: the page counts the steps of a run, in which the layers of a loop come once for each pass
    /** The layer of a step, from 0; -1: the embedding. */
    layer(step) {
      return this.run.layerOf(step);
    }
    /** The step of a layer that goes with the chosen step: in the same pass of a loop, otherwise the last. */
    step(layer, chosen) {
      return layer < 0 ? -1 : this.run.stepsWith(chosen)[layer];
    }
    title(layer) {
      return layer < 0 ? "input" : this.run.spec.layers[layer].name;
    }
    /** See what there is in the pass of a step. */
    turn({ layer: step }) {
      const { spec, run: run2, after: after2 } = this;
      const [layer, pass] = run2.spec.steps[step] ?? [-1, 0];
      const loop = spec.nodes.flatMap((node, n) => node.kind === "loop" ? [n] : [])[run2.spec.loops.findIndex(([first, last]) => first <= layer && layer <= last)];
      if (loop === void 0) return void (this.evaluated = this.whole);
      const key = `${loop} ${pass}`;
      if (!after2.has(key)) after2.set(key, evaluate(spec, this.word, /* @__PURE__ */ new Map([[loop, pass]])));
      this.evaluated = after2.get(key);
    }
    /** Whether a row is not known yet after the chosen layer, and whether it is computed there. */
    known(row, { layer: step }) {
      const { run: run2, scheme } = this;
      const [own, layer] = [scheme.layer(row), this.layer(step)];
      const looping = own === layer && (run2.spec.steps[step]?.[1] ?? 0) < run2.passes(layer) && scheme.afterLoop(row);
      return { unknown: own > layer || looping, fresh: own === layer && !looping };
    }
    /** The chosen row: the one that was clicked, otherwise the head of the chosen layer, or the last row that is known there. */
    chosen({ node, layer }) {
      if (node !== null && this.scheme.row(node)) return node;
      const known = this.scheme.bands.filter((band) => band.layer <= this.layer(layer));
      const rows = (known.at(-1) ?? this.scheme.bands[0]).rows;
      return rows.find((row) => this.node(row).operator === "aggregate") ?? rows.at(-1);
    }
    /** The cell that is looked at: the one under the mouse, otherwise that of the chosen row at the position. */
    place(now) {
      const at = Math.max(0, Math.min(this.count - 1, now.i - this.spec.before.length));
      return now.lit ?? { node: this.chosen(now), at };
    }
  };

  // src/sequence/matrix.ts
  var CELL = 26;
  var LEAST2 = 19;
  var GAP = 7;
  var CHARACTER2 = 7;
  var LONGEST = [24, 18, 14, 10];
  var FLAG = 17;
  var SPACE = 24;
  var WRITTEN = 16;
  var Matrices = class {
    constructor(program, store) {
      this.program = program;
      this.store = store;
    }
    program;
    store;
    element = el("div", { class: "matrices" });
    /** By query position, what is marked when it is looked at. */
    marked = [];
    cell = CELL;
    /** The most characters of a label. */
    longest = LONGEST[0];
    /** Whether the matrices of heads are below that of the selector. */
    stacked = false;
    /** Draw the matrix of the selector of a node, and beside it those of heads, in `room` pixels. */
    show(node, heads, room) {
      const { count: count2, scheme } = this.program;
      const selector = scheme.selector(node);
      this.marked = Array.from({ length: count2 }, () => []);
      const own = () => this.margins(selector).left + this.margins(selector).right + 4;
      const beside = (this.width([this.program.word]) + 2 + SPACE) * heads.length;
      const together = () => Math.floor((room - own() - beside) / (count2 * (1 + heads.length)));
      this.cell = CELL;
      for (this.longest of LONGEST) if (together() >= LEAST2) break;
      this.stacked = together() < LEAST2;
      if (this.stacked) this.longest = LONGEST[0];
      this.cell = Math.min(CELL, this.stacked ? Math.max(LEAST2, Math.floor((room - own()) / count2)) : together());
      this.element.replaceChildren(this.selector(node, selector), ...heads.map((head) => this.attention(node, selector, head)));
    }
    /** Mark the row of a query position. */
    draw(at) {
      this.marked.forEach((parts3, q) => {
        for (const part of parts3) {
          part.classList.toggle("now", q === at);
          if (part.hasAttribute("tabindex")) set(part, { tabindex: q === at ? 0 : -1 });
        }
      });
    }
    selector(node, selector) {
      const { program, cell } = this;
      const { count: count2, scheme } = program;
      const { keys: keys2, queries } = scheme.compared(selector);
      const results = scheme.aggregates(selector);
      const values = this.averaged(selector);
      const { left, asked, given, top } = this.margins(selector);
      const right = left + count2 * cell + GAP;
      const bottom = top + count2 * cell + GAP;
      const parts3 = [
        ...this.texts(program.word, (k) => [left + (k + 0.5) * cell, cell / 2], cell, "token-label"),
        ...this.texts(program.word, (q) => [left - asked * (queries.length + 0.5), top + (q + 0.5) * cell], asked, "token-label")
      ];
      keys2.forEach((key, n) => parts3.push(this.text(this.label(key), left - GAP, (n + 1.5) * cell, "end", "label of-key"), ...this.strip(key, left, (n + 1) * cell, "key")));
      queries.forEach((query, n) => {
        const x = left - asked * (queries.length - n);
        const y = top - 12 - FLAG * (queries.length - n - 1);
        parts3.push(this.text(this.label(query), x + asked, y, "end", "label of-query"), ...this.down(query, x, top, asked, "query"));
      });
      results.forEach((result, n) => {
        const y = top - 12 - FLAG * (results.length - n - 1);
        const kinds = program.selected(selector).map((row) => row.includes(true) ? "value" : "fallback");
        parts3.push(this.text(this.label(result, Math.floor((count2 * cell + (n + 1) * given) / CHARACTER2)), right + (n + 1) * given - 2, y, "end", `label of-value${result === node ? " shown" : ""}`), ...this.down(result, right + n * given, top, given, kinds));
      });
      values.forEach((value, n) => parts3.push(this.text(this.label(value), left - GAP, bottom + (n + 0.5) * cell, "end", "label of-value"), ...this.strip(value, left, bottom + n * cell, "value")));
      const rows = program.selected(selector).map((row, q) => {
        const path = row.flatMap((on, k) => on ? [square(left + k * cell, top + q * cell, cell)] : []).join("");
        return this.row(node, q, left, top, path, "on", this.saidRow(row), "selector");
      });
      const width = right + given * results.length + 2;
      const height = bottom + values.length * cell + 2;
      return this.figure("selector", `The selector: row, query position; column, key position`, width, height, left, top, [...parts3, ...rows]);
    }
    attention(node, selector, { label: label2, hue, keys: keys2 }) {
      const { program, cell } = this;
      const { count: count2 } = program;
      const left = this.width([program.word]) + 2;
      const top = this.stacked ? cell + GAP : this.margins(selector).top;
      const parts3 = [
        ...this.texts(program.word, (k) => [left + (k + 0.5) * cell, top - cell / 2 - 3], cell, "token-label"),
        ...this.texts(program.word, (q) => [left / 2, top + (q + 0.5) * cell], left, "token-label")
      ];
      const rows = keys2.map((looked, q) => {
        const due = program.selected(selector)[q];
        const empty = !due.includes(true);
        const share = 1 / looked.length;
        const path = looked.map((k) => square(left + k * cell, top + q * cell, cell)).join("");
        const group = this.row(node, q, left, top, path, `share${empty ? " loose" : ""}`, `head ${label2} looks at ${looked.join(", ")}${looked.length > 1 ? `, ${shareText(share)} each` : ""}`, label2);
        group.querySelector(".share")?.setAttribute("fill-opacity", String(share === 1 ? 1 : 0.12 + 0.5 * share));
        if (count2 <= WRITTEN) for (const k of looked) group.append(this.text(shareText(share), left + (k + 0.5) * cell, top + (q + 0.5) * cell, "middle", share > 0.55 && !empty ? "written light" : "written"));
        if (empty) return group;
        const wrong = due.flatMap((on, k) => on !== looked.includes(k) ? [square(left + k * cell, top + q * cell, cell)] : []);
        if (wrong.length) group.append(svg("path", { class: "different", d: wrong.join("") }));
        return group;
      });
      const below = this.stacked ? 0 : GAP + this.averaged(selector).length * cell;
      const figure = this.figure(`attention hue${hue}`, `Head ${label2}: row, where it looks from; column, where it looks`, left + count2 * cell + 2, top + count2 * cell + below + 2, left, top, [...parts3, ...rows]);
      set(figure, { "data-head": label2 });
      figure.prepend(el("figcaption", {}, "attention of ", el("b", { class: "tag" }, label2)));
      return figure;
    }
    figure(kind2, said, width, height, left, top, parts3) {
      const { cell } = this;
      const { count: count2 } = this.program;
      const grid = Array.from({ length: count2 + 1 }, (_, n) => `M${left} ${top + n * cell}h${count2 * cell}M${left + n * cell} ${top}v${count2 * cell}`).join("");
      const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": said }, svg("rect", { class: "ground", x: left, y: top, width: count2 * cell, height: count2 * cell }), svg("path", { class: "lines", d: grid }), ...parts3);
      const caption = kind2 === "selector" ? [el("figcaption", {}, "selector")] : [];
      return el("figure", { class: `matrix ${kind2}` }, ...caption, el("div", { class: "scroll", tabindex: -1 }, drawing));
    }
    /** A row of a matrix: what is filled, and what is pointed at. */
    row(node, q, left, top, path, kind2, said, of) {
      const { cell, program, store } = this;
      const { count: count2 } = program;
      const light = () => store.set({ lit: { node, at: q } });
      const frame = svg("rect", {
        class: "row-frame",
        x: left,
        y: top + q * cell,
        width: count2 * cell,
        height: cell,
        tabindex: -1,
        role: "button",
        "aria-label": `position ${q}, ${program.word[q]}: ${said}`,
        "data-row": q,
        "data-of": of,
        mouseenter: light,
        mouseleave: () => store.set({ lit: null }),
        focus: light,
        blur: () => store.set({ lit: null }),
        click: () => store.set({ i: program.position(q), playing: false }),
        keydown: (event) => this.key(event, of, q)
      });
      this.marked[q].push(frame);
      return svg("g", { class: "matrix-row" }, path ? svg("path", { class: kind2, d: path }) : null, frame);
    }
    key(event, of, q) {
      const next = { ArrowUp: q - 1, ArrowDown: q + 1, Home: 0, End: this.program.count - 1 }[event.key];
      if (event.key === "Enter" || event.key === " ") this.store.set({ i: this.program.position(q), playing: false });
      else if (next === void 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      else this.element.querySelector(`[data-of="${of}"][data-row="${next}"]`)?.focus();
      event.preventDefault();
    }
    saidRow(row) {
      const keys2 = row.flatMap((on, k) => on ? [k] : []);
      return keys2.length ? `selects ${keys2.join(", ")}` : "selects nothing";
    }
    /** What is around the matrix of a selector: the room left of it, of which each column of queries takes `asked`, the columns of results
     * right of it, each `given` wide, and the room above it. */
    margins(selector) {
      const { program, cell } = this;
      const { keys: keys2, queries } = program.scheme.compared(selector);
      const results = program.scheme.aggregates(selector);
      const asked = this.width([...queries.map((query) => program.texts(query)), program.word]);
      const given = this.width(results.map((result) => program.texts(result)));
      const wide = (node) => this.label(node).length * CHARACTER2 + GAP;
      const labels = [...[...keys2, ...this.averaged(selector)].map(wide), ...queries.map((query, n) => wide(query) + asked * (queries.length - n - 1))];
      const flags = Math.max(queries.length, results.length) * FLAG;
      return { left: Math.max(asked * (queries.length + 1), ...labels), right: GAP + given * results.length, top: (1 + keys2.length) * cell + flags + GAP, asked, given };
    }
    label(node, longest = this.longest) {
      const { name } = this.program.node(node);
      return name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
    }
    /** What is averaged where a selector selects, each once and without constants. */
    averaged(selector) {
      const { program } = this;
      const values = program.scheme.aggregates(selector).map((result) => program.node(result).arguments[1]);
      return [...new Set(values)].filter((value) => program.node(value).operator !== "constant");
    }
    width(columns) {
      return Math.max(this.cell, ...columns.flat().map((text) => Math.min(60, text.length * CHARACTER2 + 6)));
    }
    strip(node, x, y, kind2) {
      const { cell } = this;
      return this.program.texts(node).flatMap((text, k) => [svg("rect", { class: `box of-${kind2}`, x: x + k * cell, y, width: cell, height: cell - 2 }), this.text(text, x + (k + 0.5) * cell, y + cell / 2 - 1, "middle", "", cell - 3)]);
    }
    down(node, x, y, wide, kind2) {
      const { cell } = this;
      return this.program.texts(node).flatMap((text, q) => [svg("rect", { class: `box of-${typeof kind2 === "string" ? kind2 : kind2[q]}`, x, y: y + q * cell, width: wide - 2, height: cell }), this.text(text, x + wide / 2 - 1, y + (q + 0.5) * cell, "middle", "", wide - 4)]);
    }
    texts(texts, place, most, kind2) {
      return texts.map((text, n) => this.text(text, ...place(n), "middle", kind2, most - 3));
    }
    text(text, x, y, anchor, kind2, most = Infinity) {
      const tight = text.length * CHARACTER2 > most ? { textLength: most, lengthAdjust: "spacingAndGlyphs" } : {};
      return svg("text", { class: kind2, x, y: y + 4, "text-anchor": anchor, ...tight }, text);
    }
  };
  function square(x, y, size) {
    return `M${x + 1} ${y + 1}h${size - 2}v${size - 2}h${2 - size}z`;
  }
  function shareText(share) {
    const text = share.toFixed(2);
    return share >= 0.995 ? "1" : text === "0.00" ? "~0" : text.slice(1);
  }

  // src/sequence/sop.ts
  var KINDS = { token: "a token at every position", number: "a number at every position", truth: "true or false at every position", selector: "a selector: which positions (columns) each position (row) reads" };
  var SOpPanel = class {
    constructor(program, store) {
      this.program = program;
      this.store = store;
      this.matrices = new Matrices(program, store);
      this.lines = program.lines.map((line) => el("li", {}, el("code", {}, line || " ")));
      this.text = el("ol", { class: "scroll program-text", tabindex: 0, "aria-label": "The program" }, ...this.lines);
      this.element = el(
        "section",
        { class: "panel sop-panel", "aria-label": "The chosen s-op" },
        el("h2", {}, "The chosen s-op ", this.title),
        this.made,
        this.facts,
        this.values,
        this.matrices.element,
        this.note,
        this.lines.length ? this.text : null
      );
    }
    program;
    store;
    element;
    title = el("span", { class: "mono sop-title" });
    facts = el("p", { class: "sop-facts" });
    made = el("p", { class: "mono sop-text" });
    values = el("div", { class: "scroll sop-values" });
    note = el("p", { class: "sop-note" });
    lines;
    text;
    matrices;
    shown = null;
    measure() {
      this.shown = null;
    }
    draw(now) {
      const { program } = this;
      const chosen = program.chosen(now);
      if (this.shown?.[0] !== chosen || this.shown[1] !== program.evaluated) {
        this.shown = [chosen, program.evaluated];
        this.show(chosen, now);
      }
      const at = program.place(now).at;
      this.matrices.draw(at);
      for (const cell of this.values.querySelectorAll("td")) cell.classList.toggle("now", Number(cell.dataset["at"]) === at);
    }
    show(number3, now) {
      const { program, store } = this;
      const node = program.node(number3);
      const selector = program.scheme.selector(number3);
      this.title.textContent = node.name;
      this.made.replaceChildren(...this.definitions(number3).map(([name, text], n) => el("span", {}, ...n ? [el("b", {}, name), ` = ${text}`] : [`= ${text}`])));
      const layer = program.scheme.layer(number3);
      const button = (row) => el("button", { type: "button", class: "small mono", click: () => store.set({ node: row }) }, program.node(row).name);
      const users = program.scheme.edges.filter(({ from, role }) => from === number3 && role !== "again").map(({ to }) => to);
      this.facts.replaceChildren(
        el("span", {}, `${KINDS[program.kind(number3)]}, in the stream ${layer < 0 ? "from the embedding on" : `after layer ${layer + 1}`}`),
        ...users.length ? [el("span", { class: "read-by" }, "read by ", ...[...new Set(users)].flatMap((row, n) => n ? [" ", button(row)] : [button(row)]))] : []
      );
      this.values.replaceChildren(...selector === null ? [this.table(number3)] : []);
      const heads = selector === null ? [] : program.looks(number3, now);
      if (selector === null) this.matrices.element.replaceChildren();
      else this.matrices.show(number3, heads, this.element.clientWidth - 2 * parseFloat(getComputedStyle(this.element).paddingLeft));
      this.note.replaceChildren(...selector === null ? [] : this.compared(selector, heads));
      this.mark(number3);
    }
    /** How a node is made, and the selectors with names that it is made of. */
    definitions(number3) {
      const found = /* @__PURE__ */ new Map();
      const visit = (each, always) => {
        const { kind: kind2, name, text, box, arguments: parts3 } = this.program.node(each);
        if (always || kind2 === "selector" && box) found.set(each, [name, text]);
        if (always || kind2 === "selector") {
          for (const part of parts3) if (this.program.node(part).kind === "selector") visit(part, false);
        }
      };
      visit(number3, true);
      return [...found.values()].filter(([name, text]) => name !== text);
    }
    /** How the heads of the weights compare with a selector, in words. */
    compared(selector, heads) {
      const rows = this.program.selected(selector);
      if (!heads.length) return ["No head of the weights looks for this selector."];
      const empty = rows.filter((row) => !row.includes(true)).length;
      if (empty === rows.length) return [`Nothing is selected on this input, and the ${heads.length === 1 ? "head's value is" : "heads' values are"} not used.`];
      const different = heads.map(({ keys: keys2 }) => rows.reduce((sum2, row, q) => sum2 + (row.includes(true) ? row.filter((on, k) => on !== keys2[q].includes(k)).length : 0), 0));
      const verdicts = heads.map(({ label: label2 }, n) => el("span", { class: different[n] ? "bad" : "good" }, different[n] ? `✗ head ${label2} differs in ${count(different[n], "cell")}` : `✓ head ${label2} looks where the selector selects`));
      const nothing = empty ? `; at ${count(empty, "position")} nothing is selected, and the head's value there is not used` : "";
      return [...verdicts.flatMap((verdict2, n) => n ? [", ", verdict2] : [verdict2]), `${nothing}.`];
    }
    /** The values of an s-op below the tokens, and above it those of what it is made of. */
    table(number3) {
      const { program, store } = this;
      const parts3 = program.scheme.into(number3).map(({ from }) => from);
      const row = (name, texts, kind2) => el("tr", { class: kind2 }, el("th", { scope: "row", class: "mono" }, name), ...texts.map((text, at) => el("td", { class: "mono", "data-at": at, click: () => store.set({ i: program.position(at), playing: false }) }, text)));
      const rows = parts3.filter((part) => program.texts(part).length).map((part) => row(program.node(part).name, program.texts(part), "part"));
      return el("table", {}, el("caption", { class: "said" }, `${program.node(number3).name} at every position`), row("input", program.word, "word"), ...rows, row(program.node(number3).name, program.texts(number3), "result"));
    }
    /** Mark the lines of the program that a node comes from, and bring them into view. */
    mark(number3) {
      const { at } = this.program.node(number3);
      this.lines.forEach((line, n) => {
        const text = this.program.lines[n];
        const here = at !== null && at[0] === n + 1;
        line.classList.toggle("from", here);
        if (!here) line.firstElementChild.replaceChildren(text || " ");
        else {
          const [start2, end2] = [at[1] - 1, Math.min(text.length, at[1] - 1 + at[2])];
          line.firstElementChild.replaceChildren(text.slice(0, start2), el("mark", {}, text.slice(start2, end2)), text.slice(end2));
          this.text.scrollTop = line.offsetTop - this.text.clientHeight / 2;
        }
        set(line, { "aria-current": here ? "true" : null });
      });
    }
  };

  // src/sequence/rasp.ts
  function raspPanel(spec, run2, store) {
    const fed = Array.from({ length: run2.count }, (_, i) => run2.rows.fed(i));
    let program;
    try {
      program = new Program(spec, run2, fed.slice(spec.before.length, run2.count - spec.after.length));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const refused2 = el("section", { class: "panel", "aria-label": "The flow of the computation" }, el("h2", {}, "The flow of the computation"), el("p", { class: "sop-note" }, error.message));
      return { element: refused2, measure: () => void 0, draw: () => void 0 };
    }
    const [flow, sop] = [new FlowPanel(program, store), new SOpPanel(program, store)];
    return {
      element: sop.element,
      beside: flow.element,
      measure() {
        flow.measure();
        sop.measure();
      },
      draw(_i, _layer, now) {
        program.turn(now);
        flow.draw(now);
        sop.draw(now);
      },
      pointed: ({ lit }) => lit && { i: program.position(lit.at), heads: program.scheme.heads(lit.node) },
      subspace: (now) => program.node(program.chosen(now)).subspace
    };
  }

  // src/sequence/panel.ts
  function sequencePanel(spec, run2, store, _buffers) {
    if (spec.kind === "logic") return new FormulaPanel(run2, spec, store);
    return raspPanel(spec, run2, store);
  }

  // src/sequence/soft.ts
  var [COLDEST, HOTTEST, STEPS] = [-10, 5, 4];
  var MOST_HEADS = 16;
  var SoftPanel = class _SoftPanel {
    constructor(run2, store, decoder) {
      this.run = run2;
      this.store = store;
      this.decoder = decoder;
      const all = run2.spec.layers.flatMap(({ heads }, layer) => heads.map(({ name, seen }, head) => ({ layer, head, name, seen, label: `${layer + 1}.${head + 1}` })));
      this.heads = all.map((each, n) => ({ ...each, hue: `hue${n % 7}` })).filter(({ seen }) => seen).slice(0, MOST_HEADS);
      const inside = el(
        "div",
        {},
        el("p", { class: "meaning" }, "The same weights with softmax in place of hard attention: every query is divided by the temperature τ."),
        el("div", { class: "soft-slider" }, el("label", { for: "temperature" }, "temperature"), this.slider, this.power),
        this.verdict,
        this.limit,
        el("div", { class: "scroll", tabindex: 0, "aria-label": "The weights of the heads" }, this.grid)
      );
      this.element = el("details", { class: "panel soft-panel" }, el("summary", {}, el("h2", {}, "Under softmax ", el("span", { class: "check" }, "the temperature at which an answer flips"))), inside);
      this.slider.addEventListener("input", () => this.measured());
      this.element.addEventListener("toggle", () => this.measured());
      this.grid.addEventListener("click", ({ target }) => {
        const place = target.closest("[data-position]")?.dataset["position"];
        if (place !== void 0) store.set({ i: Number(place), playing: false });
      });
    }
    run;
    store;
    decoder;
    element;
    slider = el("input", { type: "range", min: COLDEST * STEPS, max: HOTTEST * STEPS, step: 1, value: 0, id: "temperature" });
    power = el("output", { for: "temperature", class: "mono" });
    verdict = el("p", { class: "soft-verdict", role: "status" });
    limit = el("p", { class: "meaning" });
    grid = el("div", { class: "soft-grid", role: "table", "aria-label": "The weights of the heads from this position" });
    heads;
    softness = null;
    found = null;
    at = 0;
    /** The panel of a run; null: its weights are not in the page, have loops or softmax of their own, or no head that scores differ for. */
    static of(run2, store, buffers) {
      const { decoder: spec, labels, loops, layers } = run2.spec;
      if (!labels || loops.length || run2.spec.softmax || spec.none !== void 0 || !layers.some(({ heads }) => heads.some(({ seen }) => seen))) return null;
      return new _SoftPanel(run2, store, () => decoderOf(spec, buffers));
    }
    draw(position) {
      this.at = Math.min(position, this.run.count - 1);
      if (this.found && this.element.open) this.drawGrid(this.found);
    }
    /** Run the weights at the temperature of the slider. */
    measured() {
      if (!this.element.open) return;
      try {
        if (!this.softness) {
          const { run: run2 } = this;
          const raw = Object.entries(run2.spec.live.shown);
          const tokens = Array.from({ length: run2.count }, (_, i) => raw.find(([, shown2]) => shown2 === run2.rows.fed(i))?.[0] ?? run2.rows.fed(i));
          this.softness = new Softness(this.decoder(), tokens);
          const warmest = this.softness.warmest();
          if (warmest !== null) this.slider.value = String(Math.max(COLDEST * STEPS, Math.floor(STEPS * Math.log2(warmest))));
          this.limit.textContent = warmest === null ? "No temperature tried, down to 2⁻¹⁰, makes every answer right." : `The largest temperature found at which every answer is right: ${sixDigits(warmest)}.`;
        }
        this.found = this.softness.at(2 ** (Number(this.slider.value) / STEPS));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.verdict.textContent = error.message;
        return;
      }
      this.said(this.found);
      this.drawGrid(this.found);
    }
    said({ answers: answers2, flips, right }) {
      const power2 = Number(this.slider.value) / STEPS;
      const all = answers2.length * (answers2[0]?.length ?? 0);
      this.power.textContent = `τ = 2^${power2} = ${sixDigits(2 ** power2)}`;
      set(this.slider, { "aria-valuetext": this.power.textContent });
      this.verdict.className = `soft-verdict ${flips ? "bad" : "good"}`;
      if (!flips) return this.verdict.replaceChildren(`✓ all ${all} answers are those of hard attention`);
      const [i, k] = flips;
      const { name } = this.run.spec.columns[k + 1];
      const go = el("button", { type: "button", class: "small", click: () => this.store.set({ i, playing: false }) }, `position ${i}`);
      this.verdict.replaceChildren(`✗ ${all - right} of ${all} answers flip, the first at `, go, ": ", el("b", { class: "mono" }, name), " is ", el("b", { class: "mono" }, answers2[i][k]), " instead of ", el("b", { class: "mono" }, this.softness.hard[i][k]));
    }
    drawGrid({ flipped, weights }) {
      const { run: run2, at, heads } = this;
      const positions2 = Array.from({ length: run2.count }, (_, j) => j);
      const header = [el("span", { role: "columnheader", class: "soft-name" }, `from position ${at}`), ...positions2.map((j) => el("span", { role: "columnheader", class: `soft-token${j === at ? " now" : ""}`, "data-position": j }, el("b", { class: "mono" }, run2.rows.fed(j)), el("span", { class: "index" }, String(j))))];
      const rows = heads.map(({ layer, head, hue, label: label2, name }) => {
        const own = weights[layer][head][at];
        const [start2, end2] = run2.look(layer, head, at).sight;
        const cells2 = positions2.map((j) => {
          const weight = own && j >= start2 && j < end2 ? own[j - start2] : null;
          const text = weight === null ? "" : weight >= 0.995 ? "1" : weight < 5e-3 ? "0" : weight.toFixed(2).slice(1);
          return el("span", { role: "cell", class: "soft-cell mono", "data-position": j, style: weight ? `--weight:${weight.toFixed(3)}` : null, title: weight === null ? "out of sight" : sixDigits(weight) }, text);
        });
        return el("div", { role: "row", class: `soft-row ${hue}` }, el("span", { role: "rowheader", class: "soft-name", title: name }, el("b", { class: "tag" }, label2), ` ${name}`), ...cells2);
      });
      const verdicts = positions2.map((j) => el("span", { role: "cell", class: `soft-cell ${flipped[j] ? "bad" : "good"}`, "data-position": j, title: flipped[j] ? "an answer flips" : "as under hard attention" }, flipped[j] ? "✗" : "✓"));
      this.grid.style.setProperty("--positions", String(run2.count));
      this.grid.replaceChildren(el("div", { role: "row", class: "soft-row" }, ...header), ...rows, el("div", { role: "row", class: "soft-row" }, el("span", { role: "rowheader", class: "soft-name" }, "answers"), ...verdicts));
    }
  };

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
      for (const view2 of this.views) view2(this.now);
    }
    play() {
      this.clock = performance.now();
      this.owed = 0;
      const tick = (time) => {
        if (!this.now.playing) return;
        this.owed += Math.max(0, time - this.clock) / 1e3 * this.now.speed;
        this.clock = time;
        const whole3 = Math.floor(this.owed);
        if (whole3 > 0) {
          this.owed -= whole3;
          this.set(this.plays === "layers" ? { layer: this.now.layer + whole3 } : { i: this.now.i + whole3 });
          if (this.finished) this.set({ playing: false });
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
      const symbol2 = rows.text("a", i);
      const state = this.machine.states.findIndex((q) => q.name === name);
      const rule = name !== null && symbol2 !== null ? ruleAt(this.machine, name, symbol2) : void 0;
      this.unmark("now");
      this.nodes.get(`s${state}`)?.classList.add("now");
      if (rule) {
        const edge = this.edges.get(`s${rule[0]}->s${rule[2]}`)?.[0];
        edge?.classList.add("now");
        edge?.querySelectorAll("text")[rule[5]]?.classList.add("now");
      }
      if (name === null) this.start()?.classList.add("now");
      const said = name === null ? "not started" : rule ? `δ(${name}, ${symbol2}) = (${this.machine.states[rule[2]].name}, ${rule[3]}, ${"LSR"[rule[4] + 1]})` : `${name}: no rule for ${symbol2 ?? "⊥"}`;
      this.caption.textContent = said;
      set(this.scroll, { "aria-label": `State graph of ${this.machine.states.length} states. Current: ${said}` });
    }
    start() {
      return [...this.edges].find(([name]) => name.startsWith("start->"))?.[1][0];
    }
  };

  // src/table.ts
  var ROW2 = 36;
  var AROUND = 8;
  var PRINTED = 40;
  var SMALLEST2 = 0.7;
  var COMFORTABLE = 0.92;
  var FEWEST = 3;
  var MOST6 = 21;
  var LIMITS2 = Array.from({ length: 37 }, (_, k) => 48 - k);
  var TAPE = "the tape before this step, as the tokens say it, with the head's cell in brackets";
  var Table = class {
    constructor(run2, store, history2, signal) {
      this.run = run2;
      this.store = store;
      this.history = history2;
      const name = history2 ? "The chapter's table" : "The table";
      this.headings = run2.spec.columns.map((column3) => el("span", { role: "columnheader", title: column3.title }, column3.name));
      const header = el(
        "div",
        { class: "row header", role: "row" },
        el("span", { role: "columnheader", title: "the position" }, "i"),
        history2 && el("span", { role: "columnheader", title: TAPE }, "tape"),
        ...this.headings
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
    headings;
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
      const fits = (size2) => LIMITS2.find((n) => sum2(signsFor(n)) + this.tapeWidth(FEWEST) <= room / size2);
      const limit = (run2.spec.labels ? fits(COMFORTABLE) : void 0) ?? fits(SMALLEST2) ?? LIMITS2.at(-1);
      const signs = signsFor(limit);
      const rest = sum2(signs);
      const tape = this.tapeWidth(this.choose(limit, room / COMFORTABLE - rest));
      const widths = [signs[0], ...this.history ? [tape] : [], ...signs.slice(1)].map((n) => n * scale);
      const all = (rest + tape) * scale;
      const smaller = Math.max(SMALLEST2, Math.min(1, room / (rest + tape)));
      this.grid.style.fontSize = `${size * smaller}px`;
      this.grid.style.setProperty("--columns", widths.map((width) => `${Math.floor(width * smaller)}px`).join(" "));
      this.grid.style.setProperty("--rest", `${Math.max(0, Math.floor((this.scroll.clientWidth - all * smaller) / (widths.length - 1)))}px`);
      this.body.style.height = `${run2.count * ROW2}px`;
      this.now = -1;
    }
    /** The number of characters that this many cells of the tape take, with the head's brackets and the ellipses. */
    tapeWidth(window2) {
      return this.history ? window2 * (1 + this.history.widest()) + 4 : 0;
    }
    /** Show this many characters of a cell, and as many cells of the tape as there is room for. */
    choose(limit, room) {
      const { history: history2, run: run2 } = this;
      const all = history2 ? history2.highest - history2.lowest + 1 : 0;
      const window2 = history2 ? Math.min(all, MOST6, Math.max(FEWEST, Math.floor((room - 4) / (1 + history2.widest())))) : 0;
      if (window2 === this.window && limit === this.limit) return window2;
      [this.window, this.limit] = [window2, limit];
      run2.spec.columns.forEach(({ name, title }, n) => {
        const text = shortened(name, limit);
        this.headings[n].textContent = text;
        set(this.headings[n], { title: text === name ? title : `${name}: ${title}` });
      });
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
        if (this.now < 0 && lead > 0 && i >= lead) this.scroll.scrollTop = lead * ROW2;
        this.now = i;
        const { scrollTop, clientHeight } = this.scroll;
        const [top, view2] = [i * ROW2, clientHeight - ROW2];
        if (top < scrollTop + ROW2) this.scroll.scrollTop = top - ROW2;
        else if (top + 2 * ROW2 > scrollTop + view2) this.scroll.scrollTop = top + 2 * ROW2 - view2;
      }
      this.fill();
    }
    fill() {
      const { scrollTop, clientHeight } = this.scroll;
      let first = Math.max(0, Math.floor(scrollTop / ROW2) - AROUND);
      let last = Math.min(this.run.count, Math.ceil((scrollTop + clientHeight) / ROW2) + AROUND);
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
          const whole3 = run2.rows.cell(name, i);
          const text = shortened(whole3, this.limit);
          const due = run2.wrong(name, i);
          const compared2 = run2.compared(name, i);
          const mark2 = due !== void 0 ? "wrong" : compared2 ? "right" : "unchecked";
          return el(
            "span",
            { role: "cell", class: `mono ${mark2}`, "data-column": name, "data-mark": mark2, title: text === whole3 ? null : whole3 },
            text,
            el("span", { class: "tick", title: due !== void 0 ? `the ${reference} says ${due}` : compared2 ? `as the ${reference} says` : null }, due !== void 0 ? "✗" : compared2 ? "✓" : ""),
            due === void 0 ? null : el("span", { class: "due" }, `≠ ${shortened(due, this.limit)}`)
          );
        })
      );
      row.style.top = `${i * ROW2}px`;
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
      if (spec.agrees === null) return `not checked: ${uncompared(spec)}`;
      if (spec.agrees) return `✓ ${cells2} compared with the ${spec.reference}, all agree`;
      return `✗ differs from the ${spec.reference} at position ${spec.divergence.position}`;
    }
  };

  // src/sequence/story.ts
  var MOST7 = 3;
  function sequenceStory(run2, layer, i) {
    const at = ["position ", code(i), ", the token ", code(run2.rows.fed(i))];
    if (layer >= run2.steps) return answered2(run2, i, at);
    if (layer < 0) return ["The embedding writes what is known at ", ...at, ", before any layer", ...after(": ", written2(run2, -1, i)), "."];
    const { heads } = run2.spec.layers[run2.layerOf(layer)];
    const values = written2(run2, layer, i);
    const name = capital(stepNamed(run2, layer));
    const nothing = " Nothing changes at this position.";
    if (!heads.length) return [`${name}, at `, ...at, ...values.length ? [": from what this position holds, ReLU units compute ", ...values, "."] : [".", nothing]];
    return [`${name}, at `, ...at, ": ", ...looks3(run2, layer, i), ".", ...values.length ? [" The layer writes ", ...values, "."] : [nothing]];
  }
  function looks3(run2, step, i) {
    const l = run2.layerOf(step);
    const { heads } = run2.spec.layers[l];
    const told = heads.slice(0, MOST7).flatMap((_, k) => {
      const look = run2.look(step, k, i);
      const { uniform, count: shared, winner, sharers, weights } = look;
      const head = [k ? "; head " : "head ", code(`${l + 1}.${k + 1}`)];
      if (uniform && shared > 1) return [...head, " takes the mean of ", count(shared, "position")];
      if (weights && shared > 1) return [...head, " gives most of its weight to positions ", code(shares(look, MOST7))];
      if (shared > 1) return [...head, ` attends to ${count(shared, "position")} equally: `, code(sharers.slice(0, MOST7).join(", ") + (shared > MOST7 ? ", …" : ""))];
      return [...head, " attends to position ", code(winner), ", the token ", code(run2.rows.fed(winner))];
    });
    return heads.length > MOST7 ? [...told, `; and ${count(heads.length - MOST7, "more head")}`] : told;
  }
  function written2(run2, step, i) {
    const changed2 = run2.spec.subspaces.flatMap((subspace, n) => subspace.name !== "1" && run2.changed(n, step, i) ? [[subspace.name, words(run2, subspace, run2.value(n, 2 * step + 2, i), i)]] : []);
    const plain3 = changed2.filter(([, value]) => !value.startsWith("⟨")).sort(([one], [other]) => Number(one.includes(" ")) - Number(other.includes(" ")));
    const told = plain3.slice(0, MOST7).flatMap(([name, value], n) => [n ? ", " : "", el("span", {}, name), " = ", code(value)]);
    const more = changed2.length - Math.min(MOST7, plain3.length);
    return more ? [...told, told.length ? ` and ${count(more, "more value")}` : count(more, "value")] : told;
  }
  function answered2(run2, i, at) {
    const { reference, columns, layers } = run2.spec;
    const answers2 = columns.slice(1, 1 + MOST7).flatMap(({ name }, n) => {
      const due = run2.wrong(name, i);
      return [n ? ", " : "", code(name), " is ", code(run2.rows.cell(name, i)), ...due === void 0 ? [] : [" (the ", reference, " says ", code(due), ")"]];
    });
    const more = columns.length - 1 - MOST7;
    const rest = more > 0 ? `, and ${count(more, "more output")} in the table` : "";
    return ["At ", ...at, ": ", ...answers2, rest, `. All positions are answered at once, in ${count(layers.length, "layer")}; ▶ plays the layers at this position.`];
  }
  function after(sign2, words2) {
    return words2.length ? [sign2, ...words2] : [];
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
      const plain3 = () => run2.spec.labels ? sequenceStory(run2, layer, i) : plainStory(run2, i);
      this.story.replaceChildren(...this.history ? story(run2, this.machine, this.description, i) : plain3());
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
        const symbol2 = history2.symbol(cell, i);
        const place = cell + run2.spec.lead;
        const unread = i < run2.spec.prompt && cell >= 0 && place > i && place < run2.spec.prompt;
        cells2.push(
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
      this.cells.replaceChildren(...cells2);
      const open = !one || start2 > 0;
      set(this.cells, { class: `cells${open ? " open-left" : ""}` });
      const state = run2.rows.text("q", i);
      this.head.hidden = !known;
      const bubble = el("span", { class: "state mono", title: state === null ? "no state yet" : null }, state ?? "⊥");
      this.head.replaceChildren(bubble);
      this.head.style.setProperty("--at", String(h - start2));
      this.keepInside(bubble, (h - start2 + 0.5) * this.cell);
      const shown2 = [...cells2].map((cell) => cell.firstChild.textContent).join(" ");
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

  // src/terms.ts
  var STREAM = [
    ["position", "the place of a token, counted from 0"],
    ["residual stream", "the vector that a position carries through the layers; the embedding writes it first, and every layer adds to it"],
    ["subspace", "the coordinates of that vector that hold one variable"],
    ["layer", "attention, feed-forward, or both: heads read other positions, ReLU units compute from this one alone"],
    ["head 2.1", "head 1 of layer 2, both counted from 1; an arc shows which position it attends to. In the path of a weight heads count from 0: layers.2.heads.0"],
    ["score", "how well a position matches the head's query: query · key. The head attends to the largest; positions that tie share the attention equally"],
    ["runner-up, gap", "the best score at any other position, and its distance from the best: with a larger gap the head tolerates more rounding and a higher temperature of softmax"],
    ["unembedding", "the matrix that computes the answer from the stream after the last layer"]
  ];
  var RASP = [
    ["s-op", "a variable of the program: one value at every position"],
    ["selector", "which positions (columns) each position (row) reads"],
    ["aggregate", "the mean of an s-op over the selected positions, or the value at the one selected position"],
    ["X.share, mean X.share", "made by the compiler: the attention that falls on the marked positions, from which the next layer computes X"],
    ["picked X, found by X", "made by the compiler: the value that the head copied, and whether its selector selects anything"],
    ["steps of X", "made by the compiler: ReLU units that tell the possible values of X apart"]
  ];
  var LOGIC = [
    ["Q[a]", "true where the token is a"],
    ["subformula", "a part of the formula; it is true or false at every position"],
    ["p since q", "q is true here or at an earlier position, and p at every position from there to here"],
    ["p until q", "the same, towards the end of the word"],
    ["once p, count(p)", "p is true here or earlier; the number of such positions"]
  ];
  var CIRCUIT = [
    ["gate", "one per position after the inputs: the decoder answers with its bit, which is the next token"],
    ["a, b, c", "the operands of the gate that is computed here: the positions of their bits. x_a, x_b and x_c are the bits"],
    ["t110", "the bit of the gate's truth table in the row 1, 1, 0"]
  ];
  var MACHINE = [
    ["triple", "a token such as (q1,x,+1): the new state, the symbol written, the move of the head"],
    ["x, y", "the token at this position, and the next token, which is the answer"],
    ["q, b, m", "the parts of the token: state, symbol written, move"],
    ["h, a", "the cell under the head, and the symbol in it"],
    ["δ(q, a)", "the rule of the machine for state q and symbol a"],
    ["T", "the number of intermediate steps: the tokens between BOS and the verdict"]
  ];
  function terms(data) {
    const own = data.sequence ? data.sequence.kind === "rasp" ? RASP : LOGIC : data.circuit ? CIRCUIT : data.runs[0].tape ? MACHINE : [];
    return [...own, ...STREAM];
  }

  // src/verdict.ts
  function notices(runs, store, searched2) {
    const wrong = runs.filter((run2) => run2.spec.divergence);
    if (runs.length > 1 && !wrong.length)
      return [el("aside", { class: "notice fine" }, el("b", {}, "✓ Both runs agree with the simulator in every cell."), " On this input the head never moves left at cell 0.", searched2 === null ? null : ` The head never does so on any of the ${count(searched2, "input")} tried.`)];
    return wrong.map((run2) => {
      const { position, column: column3, expected, found, cause } = run2.spec.divergence;
      const whose = runs.length > 1 ? run2.spec.boundary === "chapter" ? "Without the repair the run" : "The repaired run" : "This run";
      const [what, ...why] = cause;
      const blamed = blamedLayer(run2.spec);
      const show = ({ currentTarget }, layer) => {
        store.set({ i: position, layer: layer ? run2.stepsWith(store.now.layer)[layer - 1] : -1, playing: false });
        const place = Math.max(0, runs.indexOf(run2));
        currentTarget.closest("aside").parentElement.querySelectorAll(`[data-layer="${layer}"]`)[place]?.scrollIntoView({ block: "center" });
      };
      return el(
        "aside",
        { class: "notice", role: "note", "data-position": position },
        el("p", {}, el("b", {}, "✗ ", whose, ` goes wrong at position ${position}: `), ...typesetter(run2.spec)(column3), ` should be `, el("b", { class: "mono" }, expected), " but is ", el("b", { class: "mono" }, found), ". "),
        el("button", { type: "button", class: "small", click: () => store.set({ i: position, playing: false }) }, `go to position ${position}`),
        blamed === null ? null : el("button", { type: "button", class: "small", click: (event) => show(event, blamed) }, blamed ? `show layer ${blamed}` : "show the embedding"),
        what ? el("p", { class: "cause" }, el("b", {}, "Cause: "), what) : null,
        ...why.map((line) => el("p", { class: "cause" }, line))
      );
    });
  }
  function verdict(runs, circuit) {
    return runs.map((run2) => {
      const { agrees: agrees2 } = run2.spec;
      const said = run2.spec.labels ? labelled2(run2) : circuit ? outcome2(run2) : ending(run2);
      const mark2 = agrees2 === null ? "" : agrees2 ? "✓ " : "✗ ";
      const which = runs.length > 1 ? `${run2.spec.boundary}: ` : "";
      return el("span", { class: `badge ${agrees2 === null ? "" : agrees2 ? "good" : "bad"}` }, mark2, which, said);
    });
  }
  function ending(run2) {
    const { answer, T, stop, stopped } = run2.spec;
    if (T === null) return stopped ? `no verdict: ${stoppedAfter(run2.spec)}` : "no verdict within the limit";
    return `${VERDICTS[answer] ?? (stop.length ? `ends with ${answer}` : "ends")} after T = ${T.toLocaleString("en")}`;
  }
  function labelled2(run2) {
    const { divergence, columns } = run2.spec;
    if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
    const { name } = columns[1];
    const values = Array.from({ length: run2.count }, (_, i) => run2.rows.cell(name, i));
    return shortened(`${name} = ${values.join(values.some((value) => value.length !== 1) ? " " : "")}`, 60);
  }
  function outcome2(run2) {
    const { T, agrees: agrees2, result, divergence } = run2.spec;
    if (divergence?.column === STOP) return "every bit is right, but the run ends in the wrong place";
    if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
    if (T === null) return `cut off at position ${run2.count - 1}`;
    const gates = count(T, "gate");
    return agrees2 && result ? `${gates}: ${shortened(result, 80)}` : gates;
  }

  // src/page.ts
  var SCROLLBAR = 20;
  function mount(root2, data, buffers, around = {}) {
    const ended = new AbortController();
    const { signal } = ended;
    const runs = data.runs.map((spec) => new Run(spec, buffers));
    const last = Math.max(...runs.map((run2) => run2.count)) - 1;
    const parts3 = runs.map((run2) => run2.spec.divergence?.position).filter((at) => at !== void 0);
    const divergence = parts3.length ? Math.min(...parts3) : null;
    const circuit = data.circuit && new Circuit(data.circuit, buffers);
    const first = Math.min(last, Math.max(0, runs[0].spec.bos ? runs[0].turn + 1 : runs[0].turn));
    const store = new Store(last, runs[0].steps, { i: divergence ?? first, ...around.start, ...around.address ? fromAddress() : {} }, ...begins(runs[0]));
    const graph = data.drawing?.name ?? (circuit ? "circuit" : data.machine ? "state graph" : null);
    const controls = new Controls(store, root2, signal, { ...around, divergence, graph, terms: terms(data), stage: (layer) => stepNamed(runs[0], layer) });
    const scene = { root: root2, signal, store, buffers, data, circuit, several: runs.length > 1, broken: around.broken ?? null };
    const changes = around.broken && new ChangesPanel(around.broken);
    scene.broken?.watched(changes ? [() => changes.draw()] : []);
    const views = runs.map((run2) => view(run2, scene));
    changes?.draw();
    const model = data.model && new ModelPanel(data.model, runs[0], store);
    store.subscribe(({ layer }) => model?.draw(layer));
    const children = [changes?.element, ...notices(runs, store, data.searched ?? null), el("div", { class: `runs n${runs.length}` }, ...views), model?.element, controls.element, controls.help];
    root2.replaceChildren(...children.filter((child) => child != null));
    around.verdict?.replaceChildren(...verdict(runs, circuit !== null));
    const resized = new ResizeObserver(() => store.set({}));
    resized.observe(root2);
    addEventListener("resize", () => store.set({}), { signal });
    leavesFocus(root2, signal);
    signal.addEventListener("abort", () => {
      resized.disconnect();
      store.end();
      root2.replaceChildren();
      around.verdict?.replaceChildren();
    });
    store.set({});
    store.draw();
    return { runs, store, help: () => controls.help.showModal(), dispose: () => ended.abort() };
  }
  function view(run2, { root: root2, signal, store, buffers, data, circuit, several, broken }) {
    const { machine, sequence: sequence2, drawing, box } = data;
    const history2 = run2.spec.tape ? new History(run2, machine?.blank ?? "_") : null;
    const bits3 = circuit && new Bits(circuit, run2);
    const description = Description.of(run2);
    const tape = bits3 ? new BitsPanel(bits3, store) : new Tape(run2, machine, history2, description);
    const rules = description && new RulesPanel(description, store);
    const strip = new Strip(run2, store, circuit, description, [...box.tokens?.before ?? [], ...box.tokens?.after ?? []]);
    const layers = new Layers(run2, store, buffers, data.model, broken);
    broken?.watches(...layers.weights.map((card) => () => card.draw()));
    const stream = new Stream(run2, store);
    const table2 = new Table(run2, store, history2, signal);
    const redraw = () => store.set({});
    const panel = sequence2 && sequencePanel(sequence2, run2, store, buffers);
    const soft = SoftPanel.of(run2, store, buffers);
    const graph = bits3 ? new CircuitGraph(bits3, buffers, redraw) : machine ? new StateGraph(run2, machine, buffers, redraw) : drawing ? new Picture(run2, drawing, buffers, redraw) : null;
    const titles = { repaired: "With the left-boundary repair", chapter: "As in the chapter, without the repair" };
    const title = several ? el("h2", { class: "run-title" }, titles[run2.spec.boundary] ?? run2.spec.boundary) : null;
    if (several) for (const { element } of [tape, rules, strip, layers, stream, table2, graph, panel, panel?.beside && { element: panel.beside }].filter((part) => part != null)) set(element, { "aria-label": `${element.getAttribute("aria-label")}, ${run2.spec.boundary}` });
    const inside = el("div", { class: "inside" });
    const arrange = arranged(inside, {
      title,
      graph: graph && graph.element,
      panel: panel && panel.element,
      beside: panel?.beside ?? null,
      soft: soft && soft.element,
      tape: tape.element,
      rules: rules && rules.element,
      strip: strip.element,
      layers: layers.element,
      table: table2.element,
      stream: stream.element
    });
    let [width, whole3] = [0, 0];
    let before = { ...store.now };
    store.subscribe((now) => {
      const { i, layer, raw, playing, lit } = now;
      const pointing = lit !== before.lit && ["i", "layer", "raw", "playing", "node"].every((part) => now[part] === before[part]);
      before = { ...now };
      if (Math.abs(width - root2.offsetWidth) > SCROLLBAR || whole3 !== innerWidth) {
        [width, whole3] = [root2.offsetWidth, innerWidth];
        arrange();
        for (const part of [tape, strip, table2, panel]) part?.measure();
        graph?.fit();
      }
      strip.draw(i, layer, panel?.pointed?.(now));
      panel?.draw(i, layer, now);
      soft?.draw(i);
      if (pointing) return;
      tape.draw(i, layer, playing);
      rules?.draw(i);
      layers.draw(i, layer);
      stream.draw(i, layer, raw, panel?.subspace?.(now));
      graph?.draw(i);
      graph?.follow();
      table2.draw(i);
    });
    return el("article", { class: "run", "data-boundary": run2.spec.boundary }, inside);
  }
  function arranged(inside, parts3) {
    const { title, tape, rules, strip, layers, graph, panel, beside, soft, table: table2, stream } = parts3;
    const side = (...panels) => el("div", { class: "side" }, ...panels);
    let columns = 0;
    return () => {
      const now = getComputedStyle(inside).gridTemplateColumns.split(" ").length;
      if (now === columns) return;
      columns = now;
      const focused = document.activeElement;
      const middle = beside ? [strip, beside, panel] : [panel, strip];
      const panels = now > 1 ? [side(tape, rules, strip, beside, layers), side(graph, panel, soft, table2, stream)] : [tape, rules, graph, ...middle, table2, soft, layers, stream];
      inside.replaceChildren(...[title, ...panels].filter((part) => part !== null));
      if (focused instanceof HTMLElement && inside.contains(focused)) focused.focus({ preventScroll: true });
    };
  }
  function begins(run2) {
    const { lead, finds, labels } = run2.spec;
    if (labels) return [0, run2.steps, "layers"];
    return lead > 0 && finds ? [run2.turn, finds[0], "positions"] : [0, run2.steps - 1, "positions"];
  }

  // src/theme.ts
  var KEPT = "tm2tfr-theme";
  var MODES = ["auto", "light", "dark"];
  var NAMES3 = { auto: "◐ theme: auto", light: "☀ theme: light", dark: "☾ theme: dark" };
  function theme(button) {
    const apply = (mode2) => {
      set(document.documentElement, { "data-theme": mode2 });
      button.textContent = NAMES3[mode2];
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
    const broken = Broken.of(recorded, packed, true);
    const around = { verdict: find(".verdict"), address: true, theme: () => button.click(), broken };
    let mounted = null;
    const show = (data, buffers) => replacing(() => {
      if (mounted) {
        mounted.dispose();
        history.replaceState(null, "", `#${keptInAddress().join("&")}`);
      }
      mounted = mount(find("main"), data, buffers, around);
      window.tm2tfrShows = { data, buffers };
    });
    show(recorded, packed);
    find("#help").addEventListener("click", () => mounted.help());
    const box = new Box(recorded, packed, script, (data, buffers) => {
      show(data, buffers);
      if (broken?.changes.length) find(".notice, .changes-panel").scrollIntoView({ block: "center" });
      const { input } = data.runs[0];
      find(".bar .input b").textContent = input || "(empty)";
      find(".bar .input").title = find(".bar .input").textContent;
      document.title = `${recorded.box.name} on ${quoted(input)}`;
    }, broken);
    find("main").before(box.element);
    if (broken) {
      const follow = () => box.attempt(() => broken.fromAddress() && broken.start());
      follow();
      addEventListener("hashchange", follow);
    }
    foldable(find(".about"));
    for (const cut of document.querySelectorAll(".bar .input")) cut.title = cut.textContent;
    leavesFocus(find(".bar"));
    theme(button);
    document.documentElement.dataset["ready"] = "true";
  }
  function foldable(about) {
    const more = el("button", { type: "button", class: "small", hidden: true, "aria-expanded": "false", click: () => unfold(!about.classList.contains("whole")) }, "more");
    const unfold = (whole3) => {
      about.classList.toggle("whole", whole3);
      set(more, { "aria-expanded": String(whole3) });
      more.textContent = whole3 ? "less" : "more";
    };
    about.append(more);
    new ResizeObserver(() => {
      if (!about.classList.contains("whole")) more.hidden = about.scrollHeight <= about.clientHeight + 1;
    }).observe(about);
  }
  launch(start);
  return __toCommonJS(main_exports);
})();
