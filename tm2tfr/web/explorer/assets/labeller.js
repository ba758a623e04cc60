// Built from explorer/src; see explorer/README.md.
"use strict";
(() => {
  // src/data.ts
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    return (place) => column(buffer, place);
  }
  function textAt(buffers, place) {
    return new TextDecoder().decode(buffers(place));
  }
  function column(buffer, { type, at, count }) {
    const width = Number(type[1]);
    const part = buffer.slice(at, at + width * count);
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
          for (let n = 0; n < count; n++) bytes[8 * n + plane] = planes[plane * count + n];
        return new Float64Array(bytes.buffer);
      }
    }
  }

  // src/dom.ts
  function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
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

  // src/live/decoder.ts
  function decoderOf(spec, buffers) {
    const { width, vocabulary, features, positions, outputs } = spec;
    const [counts, rows, columns, values] = [buffers(spec.counts), buffers(spec.rows), buffers(spec.columns), buffers(spec.values)];
    let matrix2 = 0;
    let entry = 0;
    const next = (height, across) => {
      const end = entry + counts[matrix2++];
      const found = { height, width: across, rows: sums(rows, entry, end), columns: sums(columns, entry, end), values: Float64Array.from(values.subarray(entry, end)) };
      entry = end;
      return found;
    };
    const answers2 = outputs.length ? outputs.reduce((sum2, { labels }) => sum2 + (labels ? labels.length : 1), 0) : vocabulary.length;
    const tokens = next(width, vocabulary.length);
    const place = next(width, features.length);
    const table2 = positions === null ? null : next(width, positions);
    const unembedding = next(answers2, width);
    const unembeddingBias = next(answers2, 1);
    const norm = (given) => given && { gain: next(width, 1), bias: next(width, 1), epsilon: given.epsilon };
    const norms = spec.layers.map((layer) => ({ attentionNorm: norm(layer.attention_norm), feedForwardNorm: norm(layer.feed_forward_norm) }));
    const last = norm(spec.norm);
    const layers = spec.layers.map(({ name, heads: heads2, hidden }, n) => {
      const own = heads2.map(({ name: name2, mask, keys, values: values2 }) => {
        const [query, key, value] = [next(keys, width), next(keys, width), next(values2, width)];
        return { name: name2, mask, query, key, value, output: next(width, values2) };
      });
      const feedForward = hidden === null ? null : { input: next(hidden, width), inputBias: next(hidden, 1), output: next(width, hidden), outputBias: next(width, 1) };
      return { name, heads: own, feedForward, ...norms[n] };
    });
    const loops = spec.loops.map(({ first, last: last2, times: times2, until }) => ({ first, last: last2, times: times2, until: until ? next(1, width) : null }));
    const names = spec.names && JSON.parse(textAt(buffers, spec.names));
    const { bos, stop } = spec;
    return { width, vocabulary, bos, stop, features, positions, outputs, layers, loops, norm: last, tokens, place, table: table2, unembedding, unembeddingBias, names };
  }
  function answered({ outputs, vocabulary }) {
    if (!outputs.length) return vocabulary;
    return outputs.flatMap(({ name, labels }) => labels === null ? [name] : labels.map((label) => `${name}[${label}]`));
  }
  function sums(steps, start2, end) {
    const found = new Int32Array(end - start2);
    let sum2 = 0;
    for (let n = start2; n < end; n++) {
      sum2 += steps[n];
      found[n - start2] = sum2;
    }
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
  function layerCalled(decoder, number) {
    return `layer ${number} (${decoder.layers[number - 1].name})`;
  }
  function firstInfinite(numbers) {
    for (let n = 0; n < numbers.length; n++) if (!Number.isFinite(numbers[n])) return n;
    return -1;
  }
  function counted(number, noun) {
    return `${thousands(number)} ${noun}${number === 1 ? "" : "s"}`;
  }
  function thousands(number) {
    return number.toLocaleString("en-US");
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

  // src/live/matrix.ts
  var LinearMap = class {
    /** The rows that have entries, in order. */
    rows;
    starts;
    columns;
    values;
    constructor(matrix2) {
      const rows = [];
      const starts = [];
      matrix2.rows.forEach((row, n) => {
        if (row === rows.at(-1)) return;
        rows.push(row);
        starts.push(n);
      });
      this.rows = Int32Array.from(rows);
      this.starts = Int32Array.from([...starts, matrix2.rows.length]);
      this.columns = matrix2.columns;
      this.values = matrix2.values;
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
    constructor(matrix2) {
      const many = matrix2.columns.length;
      this.starts = new Int32Array(matrix2.width + 1);
      for (const column3 of matrix2.columns) this.starts[column3 + 1]++;
      for (let n = 0; n < matrix2.width; n++) this.starts[n + 1] += this.starts[n];
      [this.rows, this.values] = [new Int32Array(many), new Float64Array(many)];
      const next = this.starts.slice();
      for (let n = 0; n < many; n++) {
        const at = next[matrix2.columns[n]]++;
        this.rows[at] = matrix2.rows[n];
        this.values[at] = matrix2.values[n];
      }
    }
    get length() {
      return this.starts.length - 1;
    }
    /** Add a column to x. */
    addTo(x, column3) {
      const end = this.starts[column3 + 1];
      for (let n = this.starts[column3]; n < end; n++) x[this.rows[n]] += this.values[n];
    }
  };
  function selected(matrix2, rows) {
    const place = new Map(Array.from(rows, (row, n) => [row, n]));
    const keep = Array.from(matrix2.rows.keys()).filter((n) => place.has(matrix2.rows[n]));
    return {
      height: rows.length,
      width: matrix2.width,
      rows: Int32Array.from(keep, (n) => place.get(matrix2.rows[n])),
      columns: Int32Array.from(keep, (n) => matrix2.columns[n]),
      values: Float64Array.from(keep, (n) => matrix2.values[n])
    };
  }
  function vector(matrix2) {
    const found = new Float64Array(matrix2.height);
    matrix2.rows.forEach((row, n) => found[row] = matrix2.values[n]);
    return found;
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
      const keys = new Set(head.key.rows);
      const both = Int32Array.from(new Set(head.query.rows)).filter((row) => keys.has(row));
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
      const [start2, end] = inSight(this.mask, position, length);
      let look = null;
      if (!this.uniform) {
        this.query.into(this.asked, x);
        if (this.scores.length < end - start2) this.scores = new Float64Array(2 * (end - start2));
        const scores = this.scores.subarray(0, end - start2);
        this.score(scores, start2);
        if (this.careful && firstInfinite(scores) >= 0) throw tooLarge(`${this.where}, head ${quoted(this.name)}`, position, "a score");
        look = best(scores, start2);
      }
      this.average(look && look.attended, start2, end, length);
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
        const [asked, keys] = [this.asked[component], this.keys.component(component)];
        for (let n = 0, j = start2; n < many; n++, j++) scores[n] += asked * keys[j];
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
    average(attended, start2, end, length) {
      const { values, mean } = this;
      const many = attended ? attended.length : end - start2;
      const whole = start2 === 0 && end === length && many === length;
      for (let c = 0; c < mean.length; c++) {
        const component = values.component(c);
        let sum2;
        if (whole) sum2 = values.sums[c];
        else if (attended) {
          sum2 = component[attended[0]];
          for (let n = 1; n < many; n++) sum2 += component[attended[n]];
        } else {
          sum2 = component[start2];
          for (let j = start2 + 1; j < end; j++) sum2 += component[j];
        }
        mean[c] = sum2 / many;
      }
    }
  };
  function best(scores, start2) {
    let first = 0;
    let count = 1;
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
        count = 1;
      } else if (score === most) count++;
      else if (score > second) {
        second = score;
        runner = n;
      }
    }
    const attended = new Int32Array(count);
    for (let n = first, k = 0; k < count; n++) if (scores[n] === most) attended[k++] = start2 + n;
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
    for (const { heads: heads2, feedForward, attentionNorm, feedForwardNorm } of decoder.layers) {
      const [attends, reads2] = normed(attentionNorm, x);
      const sizes = heads2.map((head) => ofHead(head, reads2));
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
    return fine && answers2 && small(sum(times(decoder.unembedding, reads), column2(decoder.unembeddingBias)));
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
  function times(matrix2, x) {
    const found = new Float64Array(matrix2.height);
    matrix2.rows.forEach((row, n) => found[row] += Math.abs(matrix2.values[n]) * x[matrix2.columns[n]]);
    return found;
  }
  function column2(matrix2) {
    return times(matrix2, Float64Array.of(1));
  }
  function sum(a, b) {
    return a.map((value, n) => value + b[n]);
  }
  function small(numbers) {
    return numbers.every((number) => number < SAFE);
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
      this.uniform = this.layers.map(({ heads: heads2 }) => heads2.map((head) => head.uniform));
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
    embedded(token, position) {
      const x = new Float64Array(this.decoder.width);
      this.tokens.addTo(x, token);
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
      const { heads: heads2 } = this.layers[n];
      const looks = heads2.map((head) => head.look(reads, position, length));
      if (watch) looks.forEach((look, k) => watch.head(n, k, look));
      for (const { rows, added } of heads2) for (let r = 0; r < rows.length; r++) x[rows[r]] += added[r];
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
      const { heads: heads2, feedForward, attentionNorm, feedForwardNorm } = this.decoder.layers[n];
      const where = layerCalled(this.decoder, n + 1);
      return {
        attentionNorm: attentionNorm && new LayerNorm(attentionNorm, `${where}, norm before attention`),
        heads: heads2.map((head) => new AttentionHead(head, where, this.careful)),
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
  var Whole = class extends Weights {
    run(tokens, watches) {
      const streams = Array.from(tokens, (token, i) => this.embedded(token, i));
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
      const { heads: heads2, attentionNorm } = this.layers[n];
      if (heads2.length) {
        const reads = streams.map((x, i) => read(attentionNorm, x, i));
        for (const head of heads2) head.forget();
        for (const x of reads) for (const head of heads2) head.take(x);
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
      for (let number = 1; number <= (times2 ?? MOST_PASSES); number++) {
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

  // src/live/generate.ts
  function prompted(decoder, prompt) {
    const { vocabulary, bos, positions, outputs } = decoder;
    const numbers = new Map(vocabulary.map((token, n) => [token, n]));
    const found = prompt.map((token, i) => {
      const number = numbers.get(token);
      if (number !== void 0) return number;
      const more = vocabulary.length > 8 ? ", …" : "";
      throw new Refused(`token ${i} of the prompt, ${quoted(token)}, is not in the vocabulary: use ${vocabulary.slice(0, 8).join(", ")}${more}`);
    });
    if (!found.length && bos === null) throw new Refused("the prompt is empty, and these weights have no BOS to start with: give at least one token");
    if (bos !== null) found.push(bos);
    if (positions !== null && found.length > positions) {
      const longer = outputs.length ? `, or compile the program with --max-length ${prompt.length}` : "";
      const what = `the prompt has ${counted(prompt.length, "token")}, and these weights have ${counted(positions, "position")}`;
      throw new Refused(`${what}: give a shorter one${longer}`);
    }
    return found;
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
    let digits = mantissa.replace(/[-.]/g, "").replace(/0+$/, "") || "0";
    if (exponent < -4 || exponent >= most) {
      const fraction = digits.slice(1) ? `.${digits.slice(1)}` : "";
      return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
    digits = digits.padEnd(exponent + 1, "0");
    const rest = digits.slice(exponent + 1);
    return `${sign}${digits.slice(0, exponent + 1)}${rest ? `.${rest}` : short ? "" : ".0"}`;
  }

  // src/live/readout.ts
  function combination(labels, values) {
    const terms = Array.from(values).flatMap((value, k) => value ? [value === 1 ? labels[k] : `${sixDigits(value)}·${labels[k]}`] : []);
    return `⟨${terms.slice(0, 4).join(" + ")}${terms.length > 4 ? " + …" : ""}⟩`;
  }

  // src/labeller/run.ts
  function tokensOf(text) {
    if (text.startsWith("[")) {
      try {
        const found = JSON.parse(text);
        if (Array.isArray(found) && found.length && found.every((token) => ["string", "number"].includes(typeof token))) return found.map(String);
      } catch {
      }
    }
    return [...text];
  }
  function lettersOf(decoder, { before, after }) {
    const ends = /* @__PURE__ */ new Set([...before, ...after]);
    return decoder.vocabulary.filter((token) => !ends.has(token));
  }
  function labelled(decoder, spec, text) {
    const word = tokensOf(text);
    const letters = lettersOf(decoder, spec);
    const wrong = word.findIndex((token) => !letters.includes(token));
    const named = visible(spec.name);
    if (!word.length) throw new Refused(`${named}: the input is empty: give at least one token`);
    if (wrong >= 0) throw new Refused(`${named}: token ${wrong} of the input, ${quoted(word[wrong])}, is not in the alphabet: use ${letters.map(visible).join(", ")}`);
    const tokens = [...spec.before, ...word, ...spec.after];
    if (tokens.length > spec.most) {
      const what = `the page shows every pair of positions, and ${thousands(tokens.length)} positions are too many`;
      throw new Refused(`${named}: ${what}: use at most ${spec.most}`);
    }
    const given = prompted(decoder, tokens);
    const attended = decoder.layers.map(({ heads: heads2 }) => heads2.map(() => []));
    const stages2 = [];
    const watch = (i) => {
      let number = 0;
      const shown = /* @__PURE__ */ new Map();
      return {
        stage(layer, part, x) {
          const again = decoder.loops.some(({ first, last }) => first <= layer + 1 && layer < last);
          const pass = (shown.get(`${layer} ${part}`) ?? 0) + 1;
          shown.set(`${layer} ${part}`, pass);
          (stages2[number++] ??= { layer, part, pass: again ? pass : 0, streams: [] }).streams[i] = x.slice();
        },
        head(layer, head, look) {
          const [start2, end] = inSight(decoder.layers[layer].heads[head].mask, i, given.length);
          attended[layer][head][i] = look ? Array.from(look.attended) : Array.from({ length: end - start2 }, (_, n) => start2 + n);
        }
      };
    };
    const passed = wholeRun(decoder, given, new Map(given.map((_, i) => [i, watch(i)])));
    return { tokens, answers: passed.map(({ logits }) => answersOf(decoder, logits)), attended, stages: stages2 };
  }
  function answersOf({ outputs }, logits) {
    let start2 = 0;
    return outputs.map(({ labels }) => {
      const values = logits.subarray(start2, start2 += labels ? labels.length : 1);
      if (!labels) return plainNumber(values[0]);
      const hot = labels.filter((_, k) => values[k]);
      return hot.length === 1 && values.includes(1) ? hot[0] : combination(labels, values);
    });
  }

  // src/labeller/tables.ts
  var MOST_ROWS = 40;
  var SPACE = "␣";
  function answers({ tokens, answers: rows }, decoder) {
    const taken = [...tokens, ...rows.flat()].some((text) => text.includes(SPACE));
    const show = (text) => text === " " ? taken ? "' '" : SPACE : visible(text);
    const lines = rows.map((row, i) => el("tr", {}, el("th", { scope: "row" }, String(i)), ...[tokens[i], ...row].map((cell) => el("td", {}, show(cell)))));
    const heading = ["i", "x", ...decoder.outputs.map(({ name }) => name)].map(visible);
    const gap = lines.length - MOST_ROWS;
    if (gap > 0) {
      const words = `⋮ (${thousands(gap)} ${gap === 1 ? "row" : "rows"})`;
      lines.splice(MOST_ROWS / 2, gap, el("tr", {}, el("td", { colspan: heading.length }, words)));
    }
    return table("tm2tfr", heading, lines);
  }
  function heads({ tokens, attended }, { named, layers }) {
    const names = tokens.map((token, i) => named ? `${i} ${visible(token)}` : String(i));
    return layers.flatMap(({ heading, heads: each }, n) => {
      if (!each.length) return [];
      const drawn = each.map((name, k) => matrix(name, attended[n][k], names));
      return [el("h3", {}, heading), el("div", { class: "heads" }, ...drawn)];
    });
  }
  function matrix(name, attended, names) {
    const across = names.map((each) => {
      const [place, ...token] = each.split(" ");
      return el("th", { scope: "col" }, token.length ? `${place} ` : place, token.length ? el("br") : null, token.join(" "));
    });
    const rows = attended.map((places, i) => {
      const there = new Set(places);
      const said = places.length === 1 ? "1" : `1/${places.length}`;
      const style = `background:rgba(11,114,133,${hundredths(1 / places.length)})${places.length === 1 ? ";color:#fff" : ""}`;
      const cells = names.map((_, j) => there.has(j) ? el("td", { style }, said) : el("td"));
      return el("tr", {}, el("th", { scope: "row" }, names[i]), ...cells);
    });
    return el("table", { class: "weights" }, el("caption", {}, name), el("thead", {}, el("tr", {}, el("td"), ...across)), el("tbody", {}, ...rows));
  }
  function hundredths(share) {
    return share === 0.125 ? "0.12" : share.toFixed(2);
  }
  function stages({ stages: all }, { subspaces }) {
    const starts = [0];
    for (const { labels } of subspaces) starts.push(starts.at(-1) + (labels ? labels.length : 1));
    const part = (x, n) => (x ?? new Float64Array(starts.at(-1))).subarray(starts[n], starts[n + 1]);
    return all.map(({ layer, part: named, pass, streams }, number) => {
      const before = all[number - 1];
      const differs = (n) => streams.some((x, i) => part(x, n).some((value, k) => value !== part(before?.streams[i], n)[k]));
      const changed = Array.from(subspaces.keys()).filter(differs);
      const where = number === 0 ? "embedding" : `layer ${layer + 1}, ${pass ? `pass ${pass}, ` : ""}${named.replace("_", "-")}`;
      const summary = el("summary", {}, changed.length ? `${where}: ${counted(changed.length, "subspace")}` : `${where}: nothing changes`);
      if (!changed.length) return el("details", { open: number === 0 }, summary);
      const rows = streams.map((x, i) => el("tr", {}, el("th", { scope: "row" }, String(i)), ...changed.map((n) => el("td", {}, content(subspaces[n].labels, part(x, n))))));
      const drawn = table(null, ["i", ...changed.map((n) => visible(subspaces[n].name))], rows);
      return el("details", { open: number === 0 }, summary, el("div", { class: "wide", tabindex: 0 }, drawn));
    });
  }
  function content(labels, values) {
    if (!labels) return Array.from(values, sixDigits).join(", ");
    const there = labels.flatMap((label, k) => values[k] ? [values[k] === 1 ? visible(label) : `${visible(label)}: ${sixDigits(values[k])}`] : []);
    return there.length ? there.join(", ") : "·";
  }
  function table(name, heading, rows) {
    const [first, ...rest] = heading;
    const top = [first, ...rest].map((text, n) => el("th", name || n ? { scope: "col" } : {}, text));
    return el("table", { class: name }, el("thead", {}, el("tr", {}, ...top)), el("tbody", {}, ...rows));
  }

  // src/labeller/main.ts
  var find = (selector) => document.querySelector(selector);
  var SECTIONS = ["#answers", "#heads", "#stages"];
  async function start() {
    const data = JSON.parse(find("#data").textContent);
    const buffers = await unpacked(find("#columns").textContent);
    const input = el("input", { id: "other", type: "text", value: data.word, spellcheck: "false", autocomplete: "off", size: 40, "aria-describedby": "hint" });
    const said = el("p", { class: "said", role: "status" });
    const back = el("button", { type: "button", hidden: true }, "the recorded run");
    const form = el("form", { class: "box" }, el("label", { for: "other" }, "another input"), " ", input, " ", el("button", { type: "submit" }, "Run"), " ", back);
    find("h1").after(form, said);
    const recorded = [document.title, ...SECTIONS.map((section) => [...find(section).childNodes])];
    const show = (title, parts) => {
      document.title = title;
      find("h1").textContent = title;
      SECTIONS.forEach((section, n) => find(section).replaceChildren(...parts[n]));
    };
    back.addEventListener("click", () => {
      const [title, ...parts] = recorded;
      show(title, parts);
      back.hidden = true;
      find("#drawings").hidden = false;
      input.value = data.word;
      said.textContent = "This is the recorded run.";
    });
    const { decoder: spec } = data;
    if (spec.none !== void 0) {
      form.replaceWith(el("p", {}, `No other input can be run in this page: ${spec.none}.`));
    } else {
      form.after(el("p", { class: "hint", id: "hint" }, hint(lettersOf(spec, data))));
      let decoder = null;
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        said.textContent = "";
        try {
          const begun = performance.now();
          const run = labelled(decoder ??= decoderOf(spec, buffers), data, input.value);
          const seconds = ((performance.now() - begun) / 1e3).toFixed(2);
          const about = [`this page's engine, float64, ${counted(run.tokens.length, "position")}`, "nothing was compared: what says what is right is not in this page"];
          const title = `${visible(data.name)} on ${visible(input.value)}: nothing was compared`;
          show(title, [[find("#answers style"), answers(run, decoder), ...about.map((line) => el("p", {}, line))], heads(run, data), stages(run, data)]);
          find("#drawings").hidden = true;
          back.hidden = false;
          said.textContent = `Run in this page: ${counted(run.tokens.length, "position")} in ${seconds} s; nothing was compared.`;
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          said.textContent = error.message;
        }
      });
    }
    document.documentElement.dataset["ready"] = "true";
  }
  function hint(letters) {
    const most = 40;
    const shown = letters.slice(0, most).map((letter) => letter === " " ? "␣ (space)" : visible(letter));
    const more = letters.length > most ? ` and ${thousands(letters.length - most)} more` : "";
    const long = letters.filter((letter) => [...letter].length > 1).slice(0, 2);
    const how = long.length ? `as a JSON list, such as ${JSON.stringify(long)}` : "one character each";
    return `tokens ${shown.join(" ")}${more}; ${how}`;
  }
  start().catch((error) => {
    find("h1").after(el("p", {}, `No other input can be run in this page: ${String(error)}. It needs a browser of 2024 or later.`));
    throw error;
  });
})();
