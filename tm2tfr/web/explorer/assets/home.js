// Built from explorer/src; see explorer/README.md.
"use strict";
(() => {
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
  function leavesFocus(root, signal) {
    const prevent = (event) => {
      if (event.target.closest("button")) event.preventDefault();
    };
    root.addEventListener("mousedown", prevent, signal ? { signal } : {});
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
      const { number: number2, signed } = this.columns.get(column2).heading;
      if (!number2) return this.text(column2, i) ?? "⊥";
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
  var Run = class {
    constructor(spec, buffers) {
      this.spec = spec;
      this.rows = new Sheet(spec.rows, spec.columns, buffers, spec.texts);
      this.expected = spec.expected ? new Sheet(spec.expected, spec.columns, buffers, spec.texts) : this.rows;
      this.stages = spec.stages.map(
        (written) => new Map(
          written.map(([n, { values, others }]) => [
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
      for (let s = stage; s >= 0; s--) {
        const column2 = this.stages[s].get(n);
        if (!column2) continue;
        const number2 = column2.values[i];
        if (!subspace.labels) return { number: number2, coordinates: [number2] };
        const coordinates = column2.others.get(i) ?? subspace.labels.map((_, k) => k + 1 === number2 ? 1 : 0);
        return { number: number2, coordinates };
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

  // src/history.ts
  var MARGIN = 3;
  var History = class {
    constructor(run, blank) {
      this.run = run;
      this.blank = blank;
      const { rows, spec } = run;
      const word = spec.prompt - spec.lead;
      for (let n = 0; n < word; n++) this.write(n, -1, rows.fed(spec.lead + n));
      let [lowest, highest] = [0, Math.max(0, word - 1)];
      for (let n = 0; n < run.count; n++) {
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
      const { run, lowest, highest, blank } = this;
      const size = Math.min(window2, highest - lowest + 1);
      const margin = Math.min(MARGIN, size - 1 >> 1);
      const firsts = new Float64Array(run.count);
      let first = lowest;
      for (let n = run.spec.prompt + 1; n < run.count; n++) {
        const h = run.rows.number("h", n);
        if (Number.isInteger(h)) {
          first = Math.min(Math.max(first, h + margin + 1 - size), h - margin);
          first = Math.max(lowest, Math.min(first, highest + 1 - size));
        }
        firsts[n] = first;
      }
      return (i) => {
        if (!run.generated(i)) return null;
        const [from, h] = [firsts[i], run.rows.number("h", i)];
        const cells = Array.from({ length: size }, (_, k) => this.symbol(from + k, i) ?? blank);
        return { cells, head: Number.isInteger(h) ? h - from : null, cut: from > lowest || lowest < 0 };
      };
    }
    write(cell, at, symbol) {
      const writes = this.writes.get(cell) ?? { at: [], symbol: [] };
      writes.at.push(at);
      writes.symbol.push(symbol);
      this.writes.set(cell, writes);
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
  var MOVES = { "-1": "L", "0": "S", "1": "R" };
  var MOVED = { "-1": "moved left", "0": "did not move", "1": "moved right" };
  function token(text) {
    return el("b", { class: "mono" }, text);
  }
  function described(run, description, i) {
    const rule = description?.ruleAt(i);
    const place = ["The prompt describes the machine: ", token(run.rows.fed(i))];
    if (!rule) return [...place, i > 0 ? "." : run.rows.fed(i) === "one-way" ? " says that its tape has a left end." : " says that its tape goes on in both directions."];
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
  function plainStory(run, i) {
    const { rows } = run;
    if (i < run.turn) return ["The prompt: ", token(rows.fed(i)), ". What the decoder answers to it is not used."];
    const then = run.ends(i) ? ", which ends the run." : ", which is the next token.";
    const given = i === run.turn ? [token(rows.fed(i)), " ends the prompt."] : ["The decoder is given ", token(rows.fed(i)), "."];
    return [...given, " It answers with ", token(rows.answer(i)), then];
  }
  function story(run, machine, description, i) {
    const { rows, spec } = run;
    const answer = rows.answer(i);
    if (i < spec.lead) return described(run, description, i);
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
  function ruleAt(machine, state, symbol) {
    const q = machine.states.findIndex(({ name }) => name === state);
    return machine.rules.find((rule) => rule[0] === q && rule[1] === symbol);
  }

  // src/strip.ts
  var MOST = 60;
  var LANE = 26;
  var LOWEST = 42;
  var DASHES = ["", "9 4", "2.5 4", "13 4 2.5 4", "6 3 2 3 2 3", "1.5 2.5", "18 4"];
  var WIDE = { gap: 9, omitted: 50, around: 18, least: 40, arrow: 34, lettering: 1 };
  var CLOSE = { gap: 6, omitted: 50, around: 14, least: 30, arrow: 30, lettering: 1 };
  var MEDIUM = { gap: 5, omitted: 44, around: 9, least: 26, arrow: 26, lettering: 0.9 };
  var LIMITS = [26, 20, 16, 14, 12, 10, 8, 6];
  var EDGE = 6;
  var NARROW = { gap: 4, omitted: 38, around: 7, least: 24, arrow: 17, lettering: 0.8 };
  var Strip = class {
    constructor(run, store, circuit, description = null) {
      this.run = run;
      this.store = store;
      this.circuit = circuit;
      this.description = description;
      this.field.append(this.arcs, this.chips);
      this.heads = run.spec.layers.flatMap(
        (layer, l) => layer.heads.map((head, k) => ({ layer: l, head: k, label: `${l + 1}.${k + 1}`, name: head.name }))
      );
      const key = el(
        "ul",
        { class: "key", "aria-label": "Heads" },
        ...this.heads.map(
          ({ label, name, layer }, n) => el("li", {}, el("button", { type: "button", class: `hue${n % 7}`, click: () => store.set({ layer }) }, sample(n), el("b", {}, label), el("span", {}, ...math(name))))
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
    sizes = WIDE;
    limit = Infinity;
    /** Measure the width of a character and of the panel. */
    measure() {
      this.scale = characterWidth(this.element);
      this.room = this.field.parentElement.clientWidth - 6;
    }
    draw(position, layer) {
      const { run } = this;
      const i = Math.min(position, run.count - 1);
      const looks2 = this.heads.map(({ layer: l, head }) => run.look(l, head, i));
      const chips = this.layOut(i, looks2);
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
      this.drawArcs(i, looks2, chips, width, layer);
      if (width > this.room + 6) this.field.parentElement.scrollLeft = width;
    }
    shown(i, now) {
      return shortened(this.token(i, now), this.limit);
    }
    token(i, now) {
      return i > now ? this.run.rows.answer(now) : this.run.rows.fed(i);
    }
    /** Where the chips are: all positions if there is room, otherwise the current one, those attended to, and the latest. */
    layOut(i, looks2) {
      const { room } = this;
      this.limit = Infinity;
      const chosen = /* @__PURE__ */ new Set([i, i + 1]);
      for (const look of looks2) if (!look.uniform) look.sharers.slice(0, 4).forEach((j) => chosen.add(j));
      const rule = this.description?.lookup(i)?.found;
      if (rule) chosen.add(rule.key);
      for (const sizes of i < MOST ? [WIDE, CLOSE, MEDIUM] : []) {
        this.sizes = sizes;
        const all = this.placed(Array.from({ length: i + 2 }, (_, n) => n), i);
        if (end(all) <= room) return this.written(all);
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
      for (const n of [0, ...Array.from({ length: Math.min(i, MOST) }, (_, k) => i - 1 - k)]) {
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
    placed(positions, i) {
      const { gap, around, least, arrow, lettering } = this.sizes;
      const text = (n) => this.shown(n, i).length * this.scale * lettering;
      const width = (n) => Math.max(least, text(n) + around) + (n > i ? arrow : 0);
      const chips = [];
      let [left, before] = [2, -1];
      for (const n of positions.sort((a, b) => a - b)) {
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
      const { run, store } = this;
      const kind = i > now ? "next" : i === now ? "now" : i < run.spec.prompt ? "prompt" : run.generated(i) ? "made" : "bos";
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
    drawArcs(i, looks2, chips, width, layer) {
      const middle = this.middles(looks2, chips, i);
      const here = middle.get(i);
      const first = chips[0].i ? chips[0].left / 2 : middle.get(0);
      const order = looks2.map((_, n) => n).sort((a, b) => this.span(looks2[a], i) - this.span(looks2[b], i) || a - b);
      const height = LANE * (looks2.length + 0.5) + LOWEST;
      set(this.arcs, { width, height, viewBox: `0 0 ${width} ${height}` });
      const drawn = looks2.map((look, n) => {
        const lift = LANE * order.indexOf(n) + LOWEST;
        const { label, name, layer: l } = this.heads[n];
        const top = height - lift;
        const from = here + (n - (looks2.length - 1) / 2) * 5;
        const gap = look.runner < 0 ? "" : String(look.score - look.runnerScore);
        const group = svg("g", {
          class: `arc hue${n % 7}${l === layer ? " chosen" : ""}`,
          "data-head": label,
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
          const to = Math.max(EDGE, middle.get(j) + (n - (looks2.length - 1) / 2) * 5);
          const peak = height - lift / 0.75;
          if (j === i) {
            labels[0] = from;
            group.append(svg("path", { d: `M${from - 7} ${height}C${from - 20} ${peak} ${from + 20} ${peak} ${from + 7} ${height - 5}`, ...dash }), tip(from + 7, height));
          } else {
            group.append(svg("path", { d: `M${from} ${height}C${from} ${peak} ${to} ${peak} ${to} ${height - 5}`, ...dash }), tip(to, height));
          }
        }
        group.append(svg("rect", { x: labels[0] - 17, y: labels[1] - 11, width: 34, height: 22, rx: 11 }), svg("text", { x: labels[0], y: labels[1] + 5 }, label));
        group.prepend(svg("title", {}, `head ${label}, ${name}: ${described2(look, i)}`));
        return group;
      });
      this.arcs.replaceChildren(...[...drawn].sort((a, b) => Number(a.classList.contains("chosen")) - Number(b.classList.contains("chosen"))));
      set(this.arcs, { "aria-label": looks2.map((look, n) => `head ${this.heads[n].label}: ${described2(look, i)}`).join("; ") });
    }
    /** Where the arcs end: at the middle of a token, and of the mark for omitted ones that describe the machine. */
    middles(looks2, chips, i) {
      const middle = new Map(chips.map((chip) => [chip.i, chip.left + chip.width / 2]));
      for (const look of looks2)
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
  function described2(look, i) {
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
    constructor(run, store) {
      this.run = run;
      this.store = store;
      this.cards = [this.embedding(), ...run.spec.layers.map((_, l) => this.card(l))];
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
      const before = this.run.spec.layers.slice(0, Math.max(0, l)).reduce((sum, layer) => sum + layer.heads.length, 0);
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
      const { run } = this;
      const changed = run.spec.subspaces.flatMap(
        (subspace, n) => run.changed(n, l, i) ? [el("span", { class: "value" }, ...math(symbolOf(subspace.name)), " = ", el("b", { class: "mono" }, words(subspace, run.value(n, 2 * l + 2, i), i)))] : []
      );
      return changed.length ? ["writes ", ...changed] : ["writes nothing here"];
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
      for (const view of this.views) view(this.now);
    }
    play() {
      this.clock = performance.now();
      this.owed = 0;
      const tick = (time) => {
        if (!this.now.playing) return;
        this.owed += Math.max(0, time - this.clock) / 1e3 * this.now.speed;
        this.clock = time;
        const whole = Math.floor(this.owed);
        if (whole > 0) {
          this.owed -= whole;
          const i = this.now.i + whole;
          this.set(i >= this.last ? { i: this.last, playing: false } : { i });
        }
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    }
  };

  // src/tape.ts
  var MARGIN2 = 2;
  var Tape = class {
    constructor(run, machine, history2, description = null) {
      this.run = run;
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
      const { run } = this;
      set(this.story, { "aria-live": playing ? "off" : "polite" });
      const i = Math.min(position, run.count - 1);
      if (this.history) this.drawTape(this.history, i);
      this.story.replaceChildren(...this.history ? story(run, this.machine, this.description, i) : plainStory(run, i));
      this.end.hidden = position < run.count;
      this.end.textContent = `This run has ended, at position ${run.count - 1}.`;
    }
    drawTape(history2, i) {
      const { run } = this;
      const h = run.rows.number("h", i);
      const known = Number.isInteger(h);
      this.fit(known ? h : 0);
      const fresh = i > run.spec.prompt + 1 ? history2.written(i) : null;
      const blank = this.machine?.blank ?? "_";
      const one = this.machine?.tape === "one-way";
      const start2 = this.first;
      const cells = [];
      for (let cell = start2; cell < start2 + this.size; cell++) {
        const symbol = history2.symbol(cell, i);
        const place = cell + run.spec.lead;
        const unread = i < run.spec.prompt && cell >= 0 && place > i && place < run.spec.prompt;
        cells.push(
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
      this.cells.replaceChildren(...cells);
      const open = !one || start2 > 0;
      set(this.cells, { class: `cells${open ? " open-left" : ""}` });
      const state = run.rows.text("q", i);
      this.head.hidden = !known;
      const bubble = el("span", { class: "state mono", title: state === null ? "no state yet" : null }, state ?? "⊥");
      this.head.replaceChildren(bubble);
      this.head.style.setProperty("--at", String(h - start2));
      this.keepInside(bubble, (h - start2 + 0.5) * this.cell);
      const shown = [...cells].map((cell) => cell.firstChild.textContent).join(" ");
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
    see(shown) {
      this.shown = shown;
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
  async function start(root) {
    const find = (selector) => document.querySelector(selector).textContent;
    const data = JSON.parse(find("#data"));
    const run = new Run(data.runs[0], await unpacked(find("#columns")));
    const store = new Store(run.count - 1, run.spec.layers.length, { i: run.turn, layer: 0 }, run.turn);
    const history2 = new History(run, data.machine?.blank ?? "_");
    const tape = new Tape(run, data.machine, history2);
    const strip = new Strip(run, store, null);
    const layers = new Layers(run, store);
    const walk = new Walk(store, () => store.set({}));
    const button = (name, path, act, kind = "") => el("button", { type: "button", class: `control ${kind}`, "aria-label": name, title: name, click: act }, icon(path));
    const step = (by) => () => {
      walk.play(false);
      walk.go(walk.at + by);
    };
    const play = button("Play", PLAY, () => walk.play(!walk.playing), "play");
    const slider = el("input", { type: "range", min: 0, max: walk.count - 1, "aria-label": "Position and layer", input: () => step(Number(slider.value) - walk.at)() });
    const place = el("p", { class: "place" });
    const controls = el("div", { class: "walk", role: "group", "aria-label": "Playing" }, button("Back", "M17 5v14L7 12z", step(-1)), play, button("Step", "M7 5v14l10-7z", step(1)), slider, place);
    root.replaceChildren(el("div", { class: "inside" }, el("div", { class: "side" }, tape.element, strip.element), layers.element), controls);
    leavesFocus(root);
    let width = 0;
    store.subscribe(({ i, layer }) => {
      if (width !== root.offsetWidth) {
        width = root.offsetWidth;
        for (const view of [tape, strip]) view.measure();
      }
      tape.draw(i, walk.playing);
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
    new ResizeObserver(() => store.set({})).observe(root);
    new IntersectionObserver(([entry]) => walk.see(entry.isIntersecting)).observe(root);
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    still.addEventListener("change", () => walk.play(!still.matches));
    if (still.matches) store.set(STILL);
    else walk.play(true);
    store.draw();
    root.dataset["ready"] = "true";
  }
  start(document.querySelector("#run"));
})();
