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
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
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
  function lookedUp({ wanted, look, found, due }) {
    const asked = ["looks for ", token(wanted)];
    if (found) return [...asked, " and finds ", token(`→${found.answer}`), `, at position ${found.value}`];
    if (due) return [...asked, ` but not at position ${due.value}, where that rule is`];
    const spread = look.uniform ? "all positions share" : look.count > 1 ? `${count(look.count, "position")} share` : `position ${look.winner} has`;
    return [...asked, ": no rule: ", token("HALT"), ` (${spread} the weight)`];
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
      const { run } = this;
      set(this.story, { "aria-live": playing ? "off" : "polite" });
      const i = Math.min(position, run.count - 1);
      this.drawBits(i);
      this.story.replaceChildren(...this.happens(i));
      this.drawOutputs(i);
      this.result.textContent = i === run.count - 1 ? this.ending() : "";
    }
    drawBits(i) {
      const { circuit } = this;
      const quarter = MOST / 4;
      const first = Math.max(0, Math.min(quarter * (Math.floor((i + 1) / quarter) - 2), circuit.size - MOST));
      const last = Math.min(circuit.size, first + MOST);
      const looks2 = this.heads.map(({ layer, head }) => this.run.look(layer, head, i));
      const focused = this.cells.contains(document.activeElement);
      this.cells.replaceChildren(...Array.from({ length: last - first }, (_, n) => this.cell(first + n, i, looks2)));
      if (focused) this.cells.querySelector("[aria-current]")?.focus({ preventScroll: true });
      this.more.hidden = last - first === circuit.size;
      this.more.textContent = `bits ${first} to ${last - 1} of 0 to ${circuit.size - 1}`;
    }
    cell(net, i, looks2) {
      const { bits, circuit, store } = this;
      const bit = bits.known(net, i);
      const wrong = bit !== null && net <= i + 1 ? bits.wrong(net) : void 0;
      const state = net === i ? "now" : net === circuit.answered(i) ? "answered" : net > i ? "unread" : "";
      const outputs = circuit.outputs(net).map((name) => `, output ${name}`).join("");
      const said = `${net}: ${circuit.said(net)}${outputs}${bit === null ? "" : `; bit ${bit}`}${wrong === void 0 ? "" : `, should be ${wrong}`}`;
      const seen = this.heads.flatMap(({ label }, n) => {
        const look = looks2[n];
        return !look.uniform && look.sharers.includes(net) ? [el("span", { class: `seen hue${n % 7}`, "data-head": label, title: `head ${label} looks here` }, label)] : [];
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
      const { bits, circuit, run } = this;
      const token2 = (text) => el("b", { class: "mono" }, text);
      const answer = run.rows.answer(i);
      const gate = circuit.answered(i);
      const given = [circuit.isInput(i) ? "The input " : "The gate ", token2(circuit.name(i)), circuit.isInput(i) ? " is " : " gave ", token2(run.rows.fed(i)), ". "];
      if (gate === null) return [...given, "What the decoder answers before the last input is not used."];
      const operands = circuit.operands(gate);
      const values = operands.map((operand) => bits.at(operand, i) ?? "?").join(", ");
      const due = bits.computed(gate, i);
      const what = ["The next bit is that of the gate ", token2(circuit.name(gate)), ": ", token2(circuit.formula(gate)), ...operands.length ? [" = ", token2(`${circuit.kind(gate)}(${values})`)] : []];
      if (due === answer) return [...given, ...what, ", and the decoder answers with ", token2(answer), run.ends(i) ? ", which ends the run." : "."];
      return [...given, ...what, ...due === null ? [] : [" = ", token2(due)], ", but the decoder answers with ", token2(answer), run.ends(i) ? ", which ends the run." : "."];
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
      const { T, agrees, result, reference, divergence } = this.run.spec;
      if (divergence?.column === STOP) return "Every bit is right, but this run does not end with the last gate.";
      if (divergence) return `This run has ended; it differs from the ${reference} from position ${divergence.position} on.`;
      if (T === null) return `This run is cut off here, ${count(this.circuit.size - 1 - this.run.count, "gate")} before its end.`;
      if (agrees === null || !result) return "This run has ended.";
      return `The result: ${result}, as the ${reference} says.`;
    }
  };

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
    constructor(circuit, run) {
      this.circuit = circuit;
      this.run = run;
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
      const [column2, i] = this.circuit.isInput(net) ? [columns[0], net] : [columns.at(-1), net - 1];
      return i < this.run.count ? this.run.wrong(column2.name, i) : void 0;
    }
    /** What a gate makes of the bits that its operands have at position i; null if one has none. */
    computed(net, i) {
      const bits = this.circuit.operands(net).map((operand) => this.at(operand, i));
      if (bits.some((bit) => bit !== "0" && bit !== "1")) return null;
      return this.circuit.table(net)[bits.reduce((index, bit) => 2 * index + Number(bit), 0)];
    }
  };

  // src/description.ts
  var ARROW = "→";
  var Description = class _Description {
    constructor(run, at) {
      this.run = run;
      this.at = at;
      const { rows, spec } = run;
      for (let i = 1; i < spec.lead; i++) {
        if (!this.answers(i)) continue;
        const rule = { key: i - 1, value: i, wanted: rows.fed(i - 1), answer: rows.fed(i).slice(ARROW.length) };
        this.rules.push(rule);
        this.byValue.set(rule.value, rule);
        this.byKey.set(rule.wanted, rule);
      }
      this.tape = this.rules[0]?.key === 0 ? null : rows.fed(0);
      this.label = `${at.layer + 1}.${at.head + 1}`;
      this.number = spec.layers.slice(0, at.layer).reduce((sum, layer) => sum + layer.heads.length, at.head);
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
    static of(run) {
      const { lead, finds } = run.spec;
      return lead > 0 && finds ? new _Description(run, { layer: finds[0], head: finds[1] }) : null;
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
  var SMALLEST = 0.42;
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
      const whole = Math.min(clientWidth / this.size[0], (height - 14) / this.size[1], LARGEST);
      const readable = whole < SMALLEST && !this.element.classList.contains("large") ? READABLE : whole;
      this.scale = this.zoom === "whole" ? whole : this.zoom === "auto" ? readable : Math.max(whole, Math.min(this.zoom, MOST2));
      this.partly = this.scale > whole;
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

  // src/strip.ts
  var MOST3 = 60;
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
      for (const sizes of i < MOST3 ? [WIDE, CLOSE, MEDIUM] : []) {
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
  var Stream = class {
    constructor(run, store) {
      this.run = run;
      const names = ["the embedding", ...run.spec.layers.map((layer, l) => `layer ${l + 1}: ${layer.name}`)];
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
      const { run } = this;
      const i = Math.min(position, run.count - 1);
      this.choice.value = String(layer);
      this.title.textContent = `at position ${i}`;
      set(this.raw, { "aria-pressed": String(raw) });
      this.list.replaceChildren(
        ...run.spec.subspaces.flatMap((subspace, n) => {
          if (subspace.labels?.length === 0) return [];
          const value = run.value(n, 2 * layer + 2, i);
          const changed = run.changed(n, layer, i);
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

  // src/rules.ts
  var MOST4 = 40;
  var RulesPanel = class {
    constructor(description, store) {
      this.description = description;
      this.store = store;
      const { run, rules, tape, number: number2 } = description;
      const { lead, prompt } = run.spec;
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
      const { label, number: number2 } = this.description;
      if (!lookup) return ["The machine has no state yet: no rule is looked up."];
      return [sample(number2), el("b", { class: "tag" }, label), el("span", {}, ...lookedUp(lookup))];
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

  // src/states.ts
  var StateGraph = class extends Graph {
    constructor(run, machine, buffers, redraw) {
      super("state graph", machine.graph, buffers, redraw);
      this.run = run;
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
    constructor(run, store, history2, signal) {
      this.run = run;
      this.store = store;
      this.history = history2;
      const name = history2 ? "The chapter's table" : "The table";
      const header = el(
        "div",
        { class: "row header", role: "row" },
        el("span", { role: "columnheader", title: "the position" }, "i"),
        history2 && el("span", { role: "columnheader", title: TAPE }, "tape"),
        ...run.spec.columns.map((column2) => el("span", { role: "columnheader", title: column2.title }, column2.name))
      );
      this.grid = el("div", { class: "grid", role: "table", "aria-rowcount": run.count + 1, "aria-label": name }, el("div", { role: "rowgroup", class: "sticky" }, header), this.body);
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
      const { run } = this;
      this.grid.style.fontSize = "";
      const size = parseFloat(getComputedStyle(this.grid).fontSize);
      const scale = characterWidth(this.grid);
      const room = this.scroll.clientWidth / scale;
      const widest = run.spec.columns.map(({ name }) => Math.max(run.widest(name), name.length));
      const signsFor = (limit2) => [String(run.count).length + 2.6, ...widest.map((n) => 2.3 + Math.min(n, limit2))];
      const sum = (numbers) => numbers.reduce((all2, n) => all2 + n, 0);
      const limit = LIMITS2.find((n) => sum(signsFor(n)) + this.tapeWidth(FEWEST) <= room / SMALLEST2) ?? LIMITS2.at(-1);
      const signs = signsFor(limit);
      const rest = sum(signs);
      const tape = this.tapeWidth(this.choose(limit, room / COMFORTABLE - rest));
      const widths = [signs[0], ...this.history ? [tape] : [], ...signs.slice(1)].map((n) => n * scale);
      const all = (rest + tape) * scale;
      const smaller = Math.max(SMALLEST2, Math.min(1, room / (rest + tape)));
      this.grid.style.fontSize = `${size * smaller}px`;
      this.grid.style.setProperty("--columns", widths.map((width) => `${Math.floor(width * smaller)}px`).join(" "));
      this.grid.style.setProperty("--rest", `${Math.max(0, Math.floor((this.scroll.clientWidth - all * smaller) / (widths.length - 1)))}px`);
      this.body.style.height = `${run.count * ROW}px`;
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
      const { run, store } = this;
      const { reference } = run.spec;
      const first = run.spec.divergence?.position === i;
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
        ...run.spec.columns.map(({ name }) => {
          const whole = run.rows.cell(name, i);
          const text = shortened(whole, this.limit);
          const due = run.wrong(name, i);
          const compared = run.compared(name, i);
          const mark = due !== void 0 ? "wrong" : compared ? "right" : "unchecked";
          return el(
            "span",
            { role: "cell", class: `mono ${mark}`, "data-column": name, "data-mark": mark, title: text === whole ? null : whole },
            text,
            el("span", { class: "tick", title: due !== void 0 ? `the ${reference} says ${due}` : compared ? `as the ${reference} says` : null }, due !== void 0 ? "✗" : compared ? "✓" : ""),
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
      const { cells, head, cut } = stretch;
      const around = (k) => k === head ? "[" : k - 1 === head ? "]" : " ";
      const text = (from, to) => cells.slice(from, to).map((cell, k) => around(from + k) + cell).join("");
      const end2 = `${around(cells.length)}…`;
      const begin = cut ? "…" : this.cuts ? " " : "";
      if (head === null || head < 0 || head >= cells.length) return [begin + text(0, cells.length) + end2];
      return [begin + text(0, head), el("b", { class: "at" }, `[${cells[head]}]`), (text(head + 1, cells.length) + end2).slice(1)];
    }
    print(printing) {
      this.printing = printing;
      this.fill();
    }
    summary() {
      const { spec } = this.run;
      const cells = `${spec.compared.toLocaleString("en")} cells`;
      if (spec.agrees === null) return `not checked: there is no ${spec.noun} to compare with`;
      if (spec.agrees) return `✓ ${cells} compared with the ${spec.reference}, all agree`;
      return `✗ differs from the ${spec.reference} at position ${spec.divergence.position}`;
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

  // src/verdict.ts
  function notices(runs, store) {
    const wrong = runs.filter((run) => run.spec.divergence);
    if (runs.length > 1 && !wrong.length)
      return [el("aside", { class: "notice fine" }, el("b", {}, "✓ Both runs agree with the simulator in every cell."), " On this input the head never moves left at cell 0.")];
    return wrong.map((run) => {
      const { position, column: column2, expected, found, cause } = run.spec.divergence;
      const whose = runs.length > 1 ? run.spec.boundary === "chapter" ? "Without the repair the run" : "The repaired run" : "This run";
      const [what, ...why] = cause;
      return el(
        "aside",
        { class: "notice", role: "note", "data-position": position },
        el("p", {}, el("b", {}, "✗ ", whose, ` goes wrong at position ${position}: `), ...math(column2), ` should be `, el("b", { class: "mono" }, expected), " but is ", el("b", { class: "mono" }, found), ". "),
        el("button", { type: "button", class: "small", click: () => store.set({ i: position, playing: false }) }, `go to position ${position}`),
        what ? el("p", { class: "cause" }, el("b", {}, "Cause: "), what) : null,
        ...why.map((line) => el("p", { class: "cause" }, line))
      );
    });
  }
  function verdict(runs, circuit) {
    return runs.map((run) => {
      const { agrees } = run.spec;
      const said = circuit ? outcome(run) : ending(run);
      const mark = agrees === null ? "" : agrees ? "✓ " : "✗ ";
      const which = runs.length > 1 ? `${run.spec.boundary}: ` : "";
      return el("span", { class: `badge ${agrees === false ? "bad" : "good"}` }, mark, which, said);
    });
  }
  function ending(run) {
    const { answer, T, stop } = run.spec;
    if (T === null) return "no verdict within the limit";
    return `${VERDICTS[answer] ?? (stop.length ? `ends with ${answer}` : "ends")} after T = ${T.toLocaleString("en")}`;
  }
  function outcome(run) {
    const { T, agrees, result, divergence } = run.spec;
    if (divergence?.column === STOP) return "every bit is right, but the end is not";
    if (divergence) return `goes wrong at position ${divergence.position.toLocaleString("en")}`;
    if (T === null) return `cut off at position ${run.count - 1}`;
    const gates = count(T, "gate");
    return agrees && result ? `${gates}: ${shortened(result, 80)}` : gates;
  }

  // src/page.ts
  var SCROLLBAR = 20;
  function mount(root, data, buffers, around = {}) {
    const ended = new AbortController();
    const { signal } = ended;
    const runs = data.runs.map((spec) => new Run(spec, buffers));
    const last = Math.max(...runs.map((run) => run.count)) - 1;
    const parts = runs.map((run) => run.spec.divergence?.position).filter((at) => at !== void 0);
    const divergence = parts.length ? Math.min(...parts) : null;
    const circuit = data.circuit && new Circuit(data.circuit, buffers);
    const first = Math.min(last, Math.max(0, runs[0].spec.bos ? runs[0].turn + 1 : runs[0].turn));
    const store = new Store(last, runs[0].spec.layers.length, { i: divergence ?? first, ...around.start, ...around.address ? fromAddress() : {} }, ...begins(runs[0]));
    const controls = new Controls(store, root, signal, { ...around, divergence, graph: circuit ? "circuit" : "state graph" });
    const scene = { root, signal, store, buffers, machine: data.machine, circuit, several: runs.length > 1 };
    const views = runs.map((run) => view(run, scene));
    root.replaceChildren(...notices(runs, store), el("div", { class: `runs n${runs.length}` }, ...views), controls.element, controls.help);
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
  function view(run, { root, signal, store, buffers, machine, circuit, several }) {
    const history2 = run.spec.tape ? new History(run, machine?.blank ?? "_") : null;
    const bits = circuit && new Bits(circuit, run);
    const description = Description.of(run);
    const tape = bits ? new BitsPanel(bits, store) : new Tape(run, machine, history2, description);
    const rules = description && new RulesPanel(description, store);
    const strip = new Strip(run, store, circuit, description);
    const layers = new Layers(run, store);
    const stream = new Stream(run, store);
    const table = new Table(run, store, history2, signal);
    const redraw = () => store.set({});
    const graph = bits ? new CircuitGraph(bits, buffers, redraw) : machine && new StateGraph(run, machine, buffers, redraw);
    const titles = { repaired: "With the left-boundary repair", chapter: "As in the chapter, without the repair" };
    const title = several ? el("h2", { class: "run-title" }, titles[run.spec.boundary] ?? run.spec.boundary) : null;
    const inside = el("div", { class: "inside" });
    const arrange = arranged(inside, {
      title,
      graph: graph && graph.element,
      tape: tape.element,
      rules: rules && rules.element,
      strip: strip.element,
      layers: layers.element,
      table: table.element,
      stream: stream.element
    });
    let [width, whole] = [0, 0];
    store.subscribe(({ i, layer, raw, playing }) => {
      if (Math.abs(width - root.offsetWidth) > SCROLLBAR || whole !== innerWidth) {
        [width, whole] = [root.offsetWidth, innerWidth];
        arrange();
        for (const part of [tape, strip, table]) part.measure();
        graph?.fit();
      }
      tape.draw(i, playing);
      rules?.draw(i);
      strip.draw(i, layer);
      layers.draw(i, layer);
      stream.draw(i, layer, raw);
      graph?.draw(i);
      graph?.follow();
      table.draw(i);
    });
    return el("article", { class: "run", "data-boundary": run.spec.boundary }, inside);
  }
  function arranged(inside, parts) {
    const { title, tape, rules, strip, layers, graph, table, stream } = parts;
    const side = (...panels) => el("div", { class: "side" }, ...panels);
    let columns = 0;
    return () => {
      const now = getComputedStyle(inside).gridTemplateColumns.split(" ").length;
      if (now === columns) return;
      columns = now;
      const focused = document.activeElement;
      const panels = now > 1 ? [side(tape, rules, strip, layers), side(graph, table, stream)] : [tape, rules, graph, strip, table, layers, stream];
      inside.replaceChildren(...[title, ...panels].filter((part) => part !== null));
      if (focused instanceof HTMLElement && inside.contains(focused)) focused.focus({ preventScroll: true });
    };
  }
  function begins(run) {
    const { lead, finds, layers } = run.spec;
    return lead > 0 && finds ? [run.turn, finds[0]] : [0, layers.length - 1];
  }

  // src/theme.ts
  var KEPT = "tm2tfr-theme";
  var MODES = ["auto", "light", "dark"];
  var NAMES = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" };
  function theme(button) {
    const apply = (mode2) => {
      set(document.documentElement, { "data-theme": mode2 });
      button.textContent = NAMES[mode2];
      set(button, { "aria-label": `Colours: ${mode2}` });
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
  var main = document.querySelector("main");
  async function start() {
    const data = JSON.parse(document.querySelector("#data").textContent);
    const buffers = await unpacked(document.querySelector("#columns").textContent);
    const button = document.querySelector("#theme");
    const verdict2 = document.querySelector(".verdict");
    const mounted = mount(main, data, buffers, { verdict: verdict2, address: true, theme: () => button.click() });
    document.querySelector("#help").addEventListener("click", () => mounted.help());
    for (const cut of document.querySelectorAll(".bar .input, .bar .about")) cut.title = cut.textContent;
    leavesFocus(document.querySelector(".bar"));
    theme(button);
    document.documentElement.dataset["ready"] = "true";
  }
  start().catch((error) => {
    main.replaceChildren(el("p", { class: "notice" }, `This page cannot be shown: ${String(error)}. It needs a browser of 2023 or later.`));
    throw error;
  });
})();
