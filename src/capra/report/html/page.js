"use strict";
/* The page around the plots: figures, tables, texts, and a live page that asks for news. See plots.js about text. */
(() => {
  const { el, button, fmt, colour, isLine, isLog, isOpen, drawPlot } = Plots;
  const MOST_ROWS = 200; // of a plot's data as a table
  const EVERY = 2000; // milliseconds between two questions of a live page
  const choices = new Map(); // what the reader chose, by plot: it survives redrawing and live updates
  const figures = new Set(); // the plots on the page

  function chosenFor(key) {
    if (!choices.has(key)) choices.set(key, { hidden: new Set(), log: {}, brush: {}, sort: null });
    return choices.get(key);
  }

  // --- a figure: caption, legend, plot, downloads ---

  function figure(first) {
    const self = { block: first, chosen: chosenFor(first.key), hits: [] };
    [self.plot, self.legend, self.rows] = ["plot", "legend", "scroll"].map((name) => el("div", { class: name }));
    [self.aid, self.note, self.count] = [el("p", { class: "aid" }), el("p", { class: "note" }), el("span")];
    self.said = el("div", { class: "quiet", "aria-live": "polite" });
    const csv = () => save(new Blob([csvOf(rowsOf(self.block))], { type: "text/csv" }), `${first.key}.csv`);
    const table = () => {
      self.open = !self.open;
      fillRows(self);
    };
    const tools = [
      button("Table", { title: "Show the data as a table" }, table),
      button("CSV", { title: "Download the data" }, csv),
      button("PNG", { title: "Download the picture" }, () => savePicture(self)),
    ];
    const caption = el("figcaption", {}, el("h3", {}, first.title), el("span", { class: "buttons" }, ...tools), self.aid);
    const parts = [caption, self.legend, self.plot, self.note, self.rows, self.said];
    self.node = el("figure", { class: first.half ? "card half" : "card", id: `plot-${first.key}` }, ...parts);
    self.draw = () => {
      if (!self.plot.clientWidth) return;
      self.width = self.plot.clientWidth;
      fillLegend(self);
      [self.aid.textContent, self.note.textContent] = [self.block.aid, self.block.note ?? ""];
      drawPlot(self);
    };
    self.update = (next) => {
      self.block = next;
      self.draw();
      fillRows(self);
    };
    figures.add(self);
    sizes.observe(self.plot);
    return self;
  }

  const sizes = new ResizeObserver((entries) => {
    const changed = new Set(entries.map((entry) => entry.target));
    for (const self of figures) if (changed.has(self.plot) && self.plot.clientWidth !== self.width) self.draw();
  });

  function fillLegend(self) {
    const { block, chosen, legend } = self;
    const focused = legend.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const items = LEGENDS[block.kind](self);
    for (const side of ["x", "y"]) {
      const flip = () => {
        chosen.log[side] = !isLog(self, side);
        self.draw();
      };
      const options = { "data-name": `log ${side}`, class: "scale", title: `Change the scale of the ${side} axis` };
      if (block[side]?.switch) items.push(button(`${side} ${isLog(self, side) ? "logarithmic" : "linear"}`, options, flip));
    }
    if (block.ramp) items.push(el("span", { class: "ramp" }, block.ramp[0], el("i"), block.ramp[1]));
    legend.replaceChildren(...items);
    if (focused) [...legend.querySelectorAll("[data-name]")].find((node) => node.dataset.name === focused)?.focus();
  }

  function toggle(self, name, role, shape = "box") {
    const { hidden } = self.chosen;
    const flip = () => {
      if (!hidden.delete(name)) hidden.add(name);
      self.draw();
    };
    const swatch = el("i", { class: shape, style: { color: colour(role) } });
    const options = { type: "button", "data-name": name, "aria-pressed": String(!hidden.has(name)), on: { click: flip } };
    return el("button", options, swatch, name);
  }

  function choice(self, name, label, values) {
    const pick = () => {
      self.chosen[name] = node.value;
      self.draw();
    };
    const option = (value) => el("option", { value, selected: self.chosen[name] === value && "" }, value);
    const node = el("select", { "data-name": name, on: { change: pick } }, ...values.map(option));
    return el("label", {}, label, node);
  }

  function swatchOf(one) {
    if (one.values) return "box";
    if (isLine(one)) return one.dashed ? "dash" : "line";
    return one.shape === "tick" ? "line" : isOpen(one.shape) ? "open" : "dot";
  }

  function seriesLegend(self) {
    const first = new Map([...self.block.series].reverse().map((one) => [one.name, one])); // a name may stand for several
    const named = self.block.series.filter((one) => first.get(one.name) === one);
    return named.map((one) => toggle(self, one.name, one.value ? "ramp1" : one.colour, swatchOf(one)));
  }
  const LEGENDS = {
    xy: seriesLegend,
    bars: seriesLegend,
    matrix: (self) => {
      const used = new Set(self.block.cells.status);
      const names = self.block.statuses.filter((_, k) => used.has(k)).map((status) => status.toLowerCase());
      const toggles = names.map((name) => toggle(self, name, name === "success" ? "ramp1" : name));
      const order = choice(self, "sort", "order", ["first run", "cost", "runs"]);
      return [...toggles, order, choice(self, "only", "rows", ["all", "incumbents"])];
    },
    parallel: (self) => {
      const clear = () => {
        self.chosen.brush = {};
        self.draw();
      };
      const key = (name, role) => el("label", {}, el("i", { class: "line", style: { color: colour(role) } }), name);
      const named = [key("default", "test"), key("incumbent", "incumbent")];
      return [...named, button("Clear filters", { class: "scale" }, clear), el("label", { class: "count" }, self.count)];
    },
  };

  // --- data as rows, files ---

  function fillRows(self) {
    self.rows.replaceChildren();
    if (!self.open) return;
    const [head, ...rows] = rowsOf(self.block);
    const cell = (value) => el("td", { class: typeof value === "number" ? "number" : "" }, el("bdi", {}, fmt(value ?? "")));
    const body = rows.slice(0, MOST_ROWS).map((row) => el("tr", {}, ...row.map(cell)));
    const names = el("tr", {}, ...head.map((name) => el("th", {}, name)));
    self.rows.append(el("table", {}, el("thead", {}, names), el("tbody", {}, ...body)));
    if (rows.length > MOST_ROWS)
      self.rows.append(el("p", { class: "note" }, `The first ${MOST_ROWS} of ${fmt(rows.length)} rows; the CSV has all.`));
  }

  const ROWS = {
    xy: ({ x, y, series }) => [
      ["series", x.label, y.label, "low", "high", "what", "note"],
      ...series.flatMap((one) =>
        one.x.map((at, k) => [one.name, at, one.y[k], one.low?.[k], one.high?.[k], one.text?.[k], one.note?.[k]])),
    ],
    bars: ({ edges, series }) => [
      ["from", "to", ...series.map((one) => one.name)],
      ...edges.slice(1).map((end, k) => [edges[k], end, ...series.map((one) => one.values[k])]),
    ],
    matrix: ({ rows, columns, statuses, cells }) => [
      ["configuration", "instance", "status", "time", "runs"],
      ...cells.row.map((row, k) =>
        [rows[row], columns[cells.column[k]], statuses[cells.status[k]], cells.time[k], cells.runs[k]]),
    ],
    parallel: ({ axes, labels, cost }) => [
      ["configuration", "expected", ...axes.map((axis) => axis.name)],
      ...labels.map((label, k) => [label, cost[k], ...axes.map((axis) => axis.shown[k])]),
    ],
    table: ({ columns, rows }) => [columns, ...rows],
  };
  const rowsOf = (block) => ROWS[block.kind](block);

  // A text that a spreadsheet would take for a formula gets an apostrophe.
  function csvOf(rows) {
    const cell = (value) => {
      if (typeof value !== "string") return value === null || value === undefined ? "" : String(value);
      const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
  }

  function save(blob, name) {
    const link = el("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function savePicture(self) {
    const source = self.plot.querySelector("svg, canvas");
    const box = source.getBoundingClientRect();
    const canvas = el("canvas", { width: Math.round(box.width * 2), height: Math.round(box.height * 2) });
    const pen = canvas.getContext("2d");
    const finish = (image) => {
      pen.fillStyle = colour("card");
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, `${self.block.key}.png`));
    };
    if (source.tagName === "CANVAS") return finish(source);
    const image = new Image();
    image.addEventListener("load", () => finish(image));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(source))}`;
  }

  // --- tables ---

  function compareBy(j, way) {
    return (a, b) => {
      const [one, other] = [a[j], b[j]];
      if (one === null || other === null) return (one === null) - (other === null);
      const numbers = typeof one === "number" && typeof other === "number";
      return way * (numbers ? one - other : String(one).localeCompare(String(other)));
    };
  }

  function tableBlock(first) {
    const self = { block: first, chosen: chosenFor(first.key), head: el("tr"), body: el("tbody") };
    self.aid = el("p", { class: "aid" });
    const fill = () => fillTable(self);
    const all = () => {
      self.chosen.all = !self.chosen.all;
      fill();
    };
    const csv = () => save(new Blob([csvOf(rowsOf(self.block))], { type: "text/csv" }), `${first.key}.csv`);
    self.more = button("", {}, all);
    const hint = `Search in ${first.title}`;
    self.search = el("input", { type: "search", placeholder: "search", "aria-label": hint, on: { input: fill } });
    const tools = el("span", { class: "buttons" }, self.search, button("CSV", { title: "Download the data" }, csv));
    const head = el("div", { class: "head" }, el("h3", {}, first.title), tools, self.aid);
    const table = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, self.head), self.body));
    self.node = el("div", { class: "card", id: `plot-${first.key}` }, head, table, self.more);
    self.update = (next) => {
      self.block = next;
      fill();
    };
    fill();
    return self;
  }

  function fillTable(self) {
    const { block, chosen, head, body, more, search } = self;
    const word = search.value.toLowerCase();
    const found = block.rows.filter((row) => row.some((cell) => String(cell).toLowerCase().includes(word)));
    const { sort } = chosen;
    if (sort) found.sort(compareBy(sort.column, sort.way));
    const usual = block.rows_shown ?? 20;
    const by = (j) => () => {
      chosen.sort = { column: j, way: sort?.column === j ? -sort.way : 1 };
      fillTable(self);
    };
    const short = (j) => block.rows.every((row) => String(row[j]).length <= 14);
    const kindOf = (j) => (block.rows.some((row) => typeof row[j] === "number") ? "number" : short(j) ? "short" : "");
    const kind = block.columns.map((_, j) => kindOf(j));
    const order = (j) => (sort?.column === j ? (sort.way > 0 ? "ascending" : "descending") : undefined);
    const title = (name, j) => el("th", { class: kind[j], "aria-sort": order(j) }, button(name, {}, by(j)));
    const dim = new Set(block.dim ?? []);
    const line = (row) => {
      const cells = row.map((cell, j) => el("td", { class: kind[j] }, el("bdi", {}, fmt(cell))));
      return el("tr", { class: dim.has(row[0]) ? "dim" : "" }, ...cells);
    };
    head.replaceChildren(...block.columns.map(title));
    body.replaceChildren(...found.slice(0, chosen.all ? found.length : usual).map(line));
    more.textContent = chosen.all ? "Show fewer" : `Show all ${found.length}`;
    more.hidden = found.length <= usual;
    search.hidden = block.rows.length <= 12;
    self.aid.textContent = block.aid;
  }

  // --- texts ---

  function codeBlock(block) {
    const text = el("pre", { tabindex: 0 }, block.text);
    const copy = button("Copy", { class: "copy" }, () => copyText(block.text, text, copy));
    const title = block.folded ? null : el("h3", {}, block.title);
    const head = el("div", { class: "head" }, title, el("span", { class: "buttons" }, copy));
    if (block.folded) return { node: el("details", { class: "card" }, el("summary", {}, block.title), head, text) };
    return { node: el("div", { class: "card" }, head, text) };
  }

  async function copyText(text, node, copy) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(node);
      document.execCommand("copy");
    }
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  }

  function tilesBlock(block) {
    const bar = (share) => el("div", { class: "bar" }, el("i", { style: { width: `${100 * share}%` } }));
    const line = (name, text) => el("div", { class: name }, text);
    const tile = (one) => {
      const parts = [line("name", one.name), line("value", one.value), line("below", one.below)];
      return el("div", { class: one.strong ? "tile strong" : "tile" }, ...parts, one.share === undefined ? null : bar(one.share));
    };
    return { node: el("div", { class: "tiles" }, ...block.tiles.map(tile)) };
  }

  const proseBlock = (block) => ({ node: el("p", { class: `prose ${block.tone}` }, el("bdi", {}, block.text)) });
  const MAKERS = { tiles: tilesBlock, code: codeBlock, table: tableBlock, prose: proseBlock };
  const make = (block) => (MAKERS[block.kind] ?? figure)(block);

  // --- sections: what has not changed stays as it is ---

  const page = { main: el("main"), foot: el("footer"), parts: new Map(), name: null };
  page.nav = el("nav", { "aria-label": "Sections" });
  page.title = el("h1");
  page.state = el("span", { class: "state" });
  page.runs = el("span", { class: "runs", role: "group", "aria-label": "Runs" });
  page.live = el("span", { class: "live", hidden: "" }, "live");

  function show(doc) {
    if (doc.name !== page.name) clear(doc.name);
    page.title.textContent = doc.name;
    page.state.textContent = doc.state;
    page.foot.textContent = `Made by Capra ${doc.capra} from the tuning's store.`;
    let before = null;
    for (const section of doc.sections) {
      const part = page.parts.get(section.key) ?? startSection(section, before);
      fillSection(part, section);
      before = part;
    }
    const keys = new Set(doc.sections.map((section) => section.key));
    for (const [key, part] of page.parts) if (!keys.has(key)) dropSection(key, part);
    for (const self of figures) if (!self.node.isConnected) figures.delete(self);
  }

  function clear(name) {
    page.name = name;
    page.main.replaceChildren(page.foot);
    page.nav.replaceChildren();
    page.parts.clear();
    choices.clear();
  }

  function startSection(section, before) {
    const node = el("section", { id: section.key }, el("h2", {}, section.title));
    const part = { node, link: el("a", { href: `#${section.key}` }, section.title), blocks: new Map() };
    if (before) {
      before.node.after(part.node);
      before.link.after(part.link);
    } else {
      page.main.prepend(part.node);
      page.nav.prepend(part.link);
    }
    page.parts.set(section.key, part);
    reading.observe(part.node);
    return part;
  }

  function dropSection(key, part) {
    part.node.remove();
    part.link.remove();
    page.parts.delete(key);
  }

  function fillSection(part, section) {
    const kept = new Map();
    let before = part.node.firstChild;
    section.blocks.forEach((block, k) => {
      const key = `${block.kind} ${block.key ?? k}`;
      const json = JSON.stringify(block);
      let made = part.blocks.get(key);
      const changed = made?.json !== json;
      if (made?.update && changed) made.update(block);
      else if (changed) {
        made?.node.remove();
        made = make(block);
      }
      if (made.node.previousSibling !== before) before.after(made.node);
      if (made.json === undefined) made.draw?.();
      made.json = json;
      kept.set(key, made);
      before = made.node;
    });
    for (const [key, made] of part.blocks) if (kept.get(key) !== made) made.node.remove();
    part.blocks = kept;
  }

  const reading = new IntersectionObserver((entries) => {
    const here = entries.find((entry) => entry.isIntersecting)?.target;
    if (here) for (const part of page.parts.values()) part.link.classList.toggle("here", part.node === here);
  }, { rootMargin: "-20% 0px -70% 0px" });

  // --- colours ---

  function theme(name) {
    document.documentElement.dataset.theme = name;
    figures.forEach((self) => self.draw());
  }

  function build() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const system = () => (dark.matches ? "dark" : "light");
    const now = () => theme(pick.value === "system" ? system() : pick.value);
    const names = ["system", "light", "dark"].map((name) => el("option", {}, name));
    const pick = el("select", { "aria-label": "Colours", class: "theme", on: { change: now } }, ...names);
    dark.addEventListener("change", now);
    const printing = (on) => {
      document.documentElement.classList.toggle("printing", on); // drawn as wide as a sheet of paper
      if (on) theme("light");
      else now();
    };
    window.addEventListener("beforeprint", () => printing(true));
    window.addEventListener("afterprint", () => printing(false));
    const header = el("header", {}, page.title, page.state, page.runs, el("span", { class: "tools" }, page.live, pick));
    document.body.append(header, el("div", { class: "layout" }, page.nav, page.main));
    now();
  }

  // --- a live page asks its server whether there is something new ---

  function follow(sources) {
    let [current, tag, waiting] = [0, null, null];
    const say = (trouble) => {
      page.live.className = trouble ? "live off" : "live";
      page.live.textContent = trouble ?? "live";
    };
    const ask = async () => {
      clearTimeout(waiting);
      const asked = current;
      try {
        const headers = tag ? { "If-None-Match": tag } : {};
        const answer = await fetch(sources[asked].url, { cache: "no-store", headers });
        const doc = answer.status === 304 ? null : await answer.json();
        say(doc?.trouble);
        if (doc?.sections && asked === current) {
          show(doc);
          tag = answer.headers.get("ETag");
        }
      } catch {
        say("the server does not answer");
      }
      clearTimeout(waiting);
      waiting = setTimeout(() => document.hidden || ask(), EVERY);
    };
    const choose = (k) => {
      [current, tag] = [k, null];
      [...page.runs.children].forEach((node, j) => node.setAttribute("aria-pressed", String(j === k)));
      ask();
    };
    const tab = (source, k) => button(el("bdi", {}, source.name), {}, () => choose(k));
    if (sources.length > 1) page.runs.append(...sources.map(tab));
    document.addEventListener("visibilitychange", () => document.hidden || ask());
    page.live.hidden = false;
    choose(0);
  }

  const data = JSON.parse(document.getElementById("data").textContent);
  build();
  if (data.document) show(data.document);
  else follow(data.runs);
})();
