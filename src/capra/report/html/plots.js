"use strict";
/* Plots from plain data, as SVG or on a canvas, with what a pointer or the keyboard points at.
   All text is set as text, never as markup: names of instances and outputs of targets come from strangers. */
const Plots = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const TOUCH = 24; // pixels: how near a pointer must come to a mark

  // --- elements, numbers, colours ---

  function el(tag, options = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "on") for (const [event, action] of Object.entries(value)) node.addEventListener(event, action);
      else if (name === "style") Object.assign(node.style, value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const button = (text, options, action) => el("button", { type: "button", ...options, on: { click: action } }, text);

  function draw(parent, tag, options, text) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(options)) if (value !== undefined) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  }

  function fmt(value) {
    if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
    const size = Math.abs(value);
    if (size >= 1e9 || (size > 0 && size < 1e-4)) return value.toExponential(1).replace("e+", "e");
    if (size >= 1000) return Math.round(value).toLocaleString("en-US");
    return String(parseFloat(value.toPrecision(3)));
  }

  const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const colour = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim() || "#888";

  function rampOf() {
    const parts = (hex) => hex.match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
    const stops = [0, 1, 2, 3, 4].map((k) => parts(colour(`ramp${k}`)));
    return (share) => {
      const at = Math.min(Math.max(share, 0), 1) * 4;
      const k = Math.min(Math.floor(at), 3);
      return `rgb(${stops[k].map((part, i) => Math.round(part + (stops[k + 1][i] - part) * (at - k))).join(",")})`;
    };
  }

  // --- scales and axes ---

  function linearTicks(low, high, most) {
    const raw = (high - low) / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= raw * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(+(k * step).toPrecision(12));
    return ticks;
  }

  function logTicks(low, high, most) {
    const first = Math.ceil(Math.log10(low) - 1e-9);
    const last = Math.floor(Math.log10(high) + 1e-9);
    const skip = Math.max(1, Math.ceil((last - first + 1) / most));
    const steps = last - first < 2 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = first - 1; power <= last; power++) {
      if ((power - first) % skip === 0) ticks.push(...steps.map((step) => +(step * 10 ** power).toPrecision(6)));
    }
    const fit = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    return fit.length > 2 ? fit : linearTicks(low, high, Math.min(most, 5)).filter((tick) => tick > 0);
  }

  function rangeOf(axis, values, log) {
    const fit = values.filter((value) => value !== null && Number.isFinite(value) && (!log || value > 0));
    if (axis.share) return [0, 1];
    if (!fit.length) return log ? [0.1, 1] : [0, 1];
    const low = fit.reduce((a, b) => Math.min(a, b));
    const high = fit.reduce((a, b) => Math.max(a, b));
    if (axis.tight && low < high) return [low, high];
    if (log) {
      const room = low === high ? 2 : (high / low) ** 0.04;
      return [low / room, high * room];
    }
    const room = low === high ? 0.5 : 0.04 * (high - low);
    return [low >= 0 && low < room ? 0 : low - room, high + room];
  }

  function scaleOf(axis, values, log, from, to) {
    const [low, high] = rangeOf(axis, values, log);
    const place = log ? (value) => Math.log10(Math.max(value, low)) : (value) => value;
    const start = place(low);
    const span = place(high) - start;
    const at = (value) => from + ((place(value) - start) / span) * (to - from);
    const room = Math.max(2, Math.floor(Math.abs(to - from) / 70));
    const ticks = log ? logTicks(low, high, room) : linearTicks(low, high, room);
    return { at, low, high, ticks: axis.whole ? ticks.filter(Number.isInteger) : ticks };
  }

  const isLog = (self, side) => self.chosen.log[side] ?? self.block[side].log;

  function canvasFor(self, width, height, options) {
    self.plot.querySelectorAll("svg").forEach((old) => old.remove());
    const label = `${self.block.title}. ${self.block.aid} Arrow keys move through the marks.`;
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    return draw(self.plot, "svg", { ...size, "font-family": FONT, "font-size": 11.5, "aria-label": label, ...options });
  }

  function frame(self, height, xValues, yValues) {
    const { block } = self;
    const width = Math.max(self.plot.clientWidth, 240);
    const [top, side] = [14, 14];
    const bottom = height - 40;
    const svg = canvasFor(self, width, height, { tabindex: 0, role: "img" });
    const y = scaleOf(block.y, yValues, isLog(self, "y"), bottom, top);
    const left = 28 + 6.4 * Math.max(...y.ticks.map((tick) => fmt(tick).length));
    const right = width - side;
    const x = scaleOf(block.x, xValues, isLog(self, "x"), left, right);
    const [grid, soft] = [colour("grid"), colour("soft")];
    for (const tick of x.ticks) {
      draw(svg, "line", { x1: x.at(tick), x2: x.at(tick), y1: top, y2: bottom, stroke: grid });
      draw(svg, "text", { x: x.at(tick), y: bottom + 16, fill: soft, "text-anchor": "middle" }, fmt(tick));
    }
    for (const tick of y.ticks) {
      draw(svg, "line", { x1: left, x2: right, y1: y.at(tick), y2: y.at(tick), stroke: grid });
      draw(svg, "text", { x: left - 6, y: y.at(tick) + 4, fill: soft, "text-anchor": "end" }, fmt(tick));
    }
    const middle = (top + bottom) / 2;
    const title = { fill: soft, "text-anchor": "middle" };
    draw(svg, "text", { x: (left + right) / 2, y: height - 5, ...title }, block.x.label);
    draw(svg, "text", { x: 11, y: middle, ...title, transform: `rotate(-90 11 ${middle})` }, block.y.label);
    return { svg, x, y, left, right, top, bottom };
  }

  // --- points and lines ---

  const isLine = (one) => one.mark === "line" || one.mark === "step";

  function drawXY(self) {
    const { block } = self;
    const visible = block.series.filter((one) => !self.chosen.hidden.has(one.name));
    const guides = block.guides ?? [];
    const all = (...names) => visible.flatMap((one) => names.flatMap((name) => one[name] ?? []));
    const guided = (side) => guides.filter((guide) => guide.axis === side).map((guide) => guide.at);
    let xValues = [...all("x"), ...guided("x")];
    let yValues = [...all("y", "low", "high"), ...guided("y")];
    if (block.square) xValues = yValues = [...xValues, ...yValues];
    const width = self.plot.clientWidth;
    const height = block.low ? 170 : block.half ? Math.min(460, width) : Math.min(380, Math.max(width < 600 ? 280 : 240, width * 0.38));
    const plot = frame(self, height, xValues, yValues);
    guides.forEach((guide) => drawGuide({ ...plot, square: block.square }, guide));
    self.hits = [];
    const ramp = rampOf();
    for (const one of visible) drawSeries(self, plot, one, ramp);
    self.node.dataset.marks = plot.svg.querySelectorAll(".mark").length;
    interact(self, plot.svg);
  }

  function drawGuide(plot, guide) {
    const soft = colour("soft");
    const line = { stroke: soft, "stroke-dasharray": guide.faint ? "1 4" : "4 3", "stroke-opacity": 0.8 };
    const text = (x, y, anchor) =>
      draw(plot.svg, "text", { x, y, fill: soft, "text-anchor": anchor, "font-size": 10.5 }, guide.label);
    if (guide.axis === "y") {
      const at = plot.y.at(guide.at);
      draw(plot.svg, "line", { x1: plot.left, x2: plot.right, y1: at, y2: at, ...line });
      if (plot.square) text(plot.left + 4, at - 4, "start");
      else text(plot.right - 4, at - 4, "end");
    } else if (guide.axis === "x") {
      const at = plot.x.at(guide.at);
      draw(plot.svg, "line", { x1: at, x2: at, y1: plot.top, y2: plot.bottom, ...line });
    } else {
      const low = Math.max(plot.x.low, plot.y.low * guide.at);
      const high = Math.min(plot.x.high, plot.y.high * guide.at);
      if (low >= high) return;
      const [x1, y1, x2, y2] = [plot.x.at(low), plot.y.at(low / guide.at), plot.x.at(high), plot.y.at(high / guide.at)];
      draw(plot.svg, "line", { x1, y1, x2, y2, ...line });
      const [x, y] = [x1 + 0.62 * (x2 - x1), y1 + 0.62 * (y2 - y1)];
      if (x < plot.right - 70) text(x + 6, y + 11, "start");
      else text(x - 6, y - 4, "end");
    }
  }

  function starPath(x, y, r) {
    const corner = (k) => {
      const size = k % 2 ? r * 0.55 : r * 1.3;
      return `${(x + size * Math.sin((Math.PI * k) / 5)).toFixed(1)},${(y - size * Math.cos((Math.PI * k) / 5)).toFixed(1)}`;
    };
    return `M${[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(corner).join("L")}Z`;
  }

  const circlePath = (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`;
  const SHAPES = {
    circle: circlePath,
    ring: circlePath,
    diamond: (x, y, r) => `M${x},${y - r}L${x + r},${y}L${x},${y + r}L${x - r},${y}Z`,
    triangle: (x, y, r) => `M${x - r},${y + r * 0.8}L${x},${y - r}L${x + r},${y + r * 0.8}Z`,
    tick: (x, y, r) => `M${x - r},${y}L${x + r},${y}`,
    star: starPath,
  };
  const OPEN = new Set(["ring", "tick", "triangle"]);

  function drawSeries(self, plot, one, ramp) {
    const { block } = self;
    const hue = colour(one.colour);
    const group = draw(plot.svg, "g", { "data-series": one.name });
    const known = one.x.map((_, k) => k).filter((k) => one.x[k] !== null && one.y[k] !== null);
    const places = known.map((k) => [+plot.x.at(one.x[k]).toFixed(1), +plot.y.at(one.y[k]).toFixed(1)]);
    if (isLine(one) && known.length) drawLine(group, one, places, hue);
    known.forEach((k, i) => {
      const [px, py] = places[i];
      const lines = [`${block.x.label}: ${fmt(one.x[k])}`, `${block.y.label}: ${fmt(one.y[k])}`, one.note?.[k], one.name];
      self.hits.push({ px, py, title: one.text?.[k], lines });
      if (isLine(one)) return;
      if (one.mark === "whisker") {
        const ends = { y1: plot.y.at(one.low[k]), y2: plot.y.at(one.high[k]) };
        draw(group, "line", { x1: px, x2: px, ...ends, stroke: hue, "stroke-width": 1.3, "stroke-opacity": 0.5 });
      }
      drawMark(group, one, k, px, py, one.value ? ramp(one.value[k]) : hue, known.length);
    });
  }

  function drawLine(group, one, places, hue) {
    const next = (x, y, k) => (k && one.mark === "step" ? `H${x}V${y}` : `${k ? "L" : "M"}${x},${y}`);
    const path = places.map(([x, y], k) => next(x, y, k)).join("");
    const style = { stroke: hue, "stroke-width": one.size ?? 2, "stroke-dasharray": one.dashed ? "5 4" : undefined };
    draw(group, "path", { class: "mark", d: path, fill: "none", "stroke-linejoin": "round", ...style });
  }

  function drawMark(group, one, k, x, y, hue, count) {
    const shape = one.shape ?? "circle";
    const size = (Array.isArray(one.size) ? one.size[k] : one.size) ?? (count > 300 ? 2.8 : count > 40 ? 4 : 5);
    const open = OPEN.has(shape);
    const edge = one.value || shape === "star" || shape === "diamond";
    draw(group, "path", {
      class: "mark",
      d: SHAPES[shape](x, y, size),
      fill: open ? "none" : hue,
      "fill-opacity": count > 60 && !one.value ? 0.6 : 0.95,
      stroke: open ? hue : edge ? colour("card") : "none",
      "stroke-width": open ? 1.6 : 0.8,
    });
  }

  // --- stacked bars ---

  function drawBars(self) {
    const { block } = self;
    const visible = block.series.filter((one) => !self.chosen.hidden.has(one.name));
    const totals = block.edges.slice(1).map((_, k) => visible.reduce((sum, one) => sum + one.values[k], 0));
    const plot = frame(self, 260, block.edges, [0, ...totals]);
    const heights = totals.map(() => 0);
    self.hits = [];
    for (const one of visible) {
      const group = draw(plot.svg, "g", { fill: colour(one.colour), "data-series": one.name });
      one.values.forEach((value, k) => {
        if (!value) return;
        const [x1, x2] = [plot.x.at(block.edges[k]), plot.x.at(block.edges[k + 1])];
        const [y1, y2] = [plot.y.at(heights[k] + value), plot.y.at(heights[k])];
        const width = Math.max(0.5, x2 - x1 - 1);
        draw(group, "rect", { class: "mark", x: x1 + 0.5, width, y: y1, height: Math.max(0, y2 - y1) });
        const share = `${fmt((100 * value) / totals[k])} % of ${fmt(totals[k])}`;
        const where = `${block.x.label}: ${fmt(block.edges[k])} to ${fmt(block.edges[k + 1])}`;
        const near = Math.max(TOUCH, (y2 - y1) / 2);
        self.hits.push({ px: (x1 + x2) / 2, py: (y1 + y2) / 2, title: `${fmt(value)} ${one.name}`, lines: [share, where], near });
        heights[k] += value;
      });
    }
    self.node.dataset.marks = plot.svg.querySelectorAll(".mark").length;
    interact(self, plot.svg);
  }

  // --- hovering, and the same by keyboard ---

  function interact(self, surface) {
    let current = -1;
    const ink = { r: 7, fill: "none", stroke: colour("ink"), "stroke-width": 1.5, visibility: "hidden" };
    const ring = surface.namespaceURI === SVG ? draw(surface, "circle", { class: "ring", ...ink }) : null;
    const show = (k) => {
      const hit = self.hits[(current = k)];
      tell(self, hit);
      ring?.setAttribute("visibility", hit ? "visible" : "hidden");
      if (hit) for (const [name, value] of [["cx", hit.px], ["cy", hit.py]]) ring?.setAttribute(name, value);
    };
    const nearest = (event) => {
      const box = surface.getBoundingClientRect();
      let [best, least] = [-1, Infinity];
      self.hits.forEach((hit, k) => {
        const distance = Math.hypot(hit.px - event.clientX + box.left, hit.py - event.clientY + box.top);
        if (distance < least && distance <= (hit.near ?? TOUCH)) [best, least] = [k, distance];
      });
      show(best);
    };
    const keys = (event) => {
      const last = self.hits.length - 1;
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = by ? (current + by + last + 1) % (last + 1) : { Home: 0, End: last, Escape: -1 }[event.key];
      if (next === undefined || last < 0 || event.target !== surface) return;
      event.preventDefault();
      show(next);
    };
    surface.addEventListener("pointermove", nearest);
    surface.addEventListener("pointerdown", nearest);
    surface.addEventListener("pointerleave", () => show(-1));
    surface.addEventListener("blur", () => show(-1));
    surface.addEventListener("keydown", keys);
  }

  function tell(self, hit) {
    self.plot.querySelector(".tip")?.remove();
    self.said.textContent = "";
    if (!hit) return;
    const lines = hit.lines.filter((line) => line !== undefined && line !== null);
    const title = hit.title ? el("b", {}, el("bdi", {}, hit.title)) : null;
    const tip = el("div", { class: "tip", role: "tooltip" }, title, ...lines.map((line) => el("span", {}, el("bdi", {}, line))));
    self.plot.append(tip);
    const room = self.plot.clientWidth - tip.offsetWidth;
    const x = hit.px + 14 > room ? hit.px - tip.offsetWidth - 14 : hit.px + 14;
    tip.style.left = `${Math.max(0, Math.min(room, x))}px`;
    tip.style.top = `${Math.max(0, Math.min(hit.py + 12, self.plot.clientHeight - tip.offsetHeight))}px`;
    self.said.textContent = [hit.title, ...lines].filter(Boolean).join("; ");
  }

  // --- configurations × instances ---

  function matrixRows(block, chosen) {
    const runs = block.rows.map(() => 0);
    block.cells.row.forEach((row) => runs[row]++);
    const rows = block.rows.map((_, k) => k).filter((k) => chosen.only !== "incumbents" || block.marked[k]);
    const cost = (k) => block.costs[k] ?? Infinity;
    if (chosen.sort === "cost") rows.sort((a, b) => cost(a) - cost(b) || a - b);
    if (chosen.sort === "runs") rows.sort((a, b) => runs[b] - runs[a]);
    return rows;
  }

  function surfaceFor(self, width, height) {
    const ratio = window.devicePixelRatio || 1;
    self.plot.querySelector("canvas")?.remove();
    const label = `${self.block.title}. ${self.block.aid} Arrow keys move through the runs.`;
    const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    const style = { width: `${width}px`, height: `${height}px` };
    const canvas = el("canvas", { ...size, style, tabindex: 0, role: "img", "aria-label": label });
    self.plot.append(canvas);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    return [canvas, pen];
  }

  function cellColours({ cells, statuses }) {
    const ramp = rampOf();
    const hues = statuses.map((status) => colour(status.toLowerCase()));
    const solved = (k) => statuses[cells.status[k]] === "SUCCESS";
    const logs = cells.time.filter((time, k) => solved(k) && time > 0).map(Math.log);
    const low = logs.reduce((a, b) => Math.min(a, b), Infinity);
    const span = logs.reduce((a, b) => Math.max(a, b), -Infinity) - low || 1;
    return (k) => (solved(k) ? ramp(cells.time[k] > 0 ? (Math.log(cells.time[k]) - low) / span : 0) : hues[cells.status[k]]);
  }

  function drawMatrix(self) {
    const { block, chosen } = self;
    const { cells } = block;
    const rows = matrixRows(block, chosen);
    const place = new Map(rows.map((row, k) => [row, k]));
    const gutter = 14;
    const width = Math.max(self.plot.clientWidth, 240);
    const cw = Math.min((width - gutter) / block.columns.length, 60);
    const ch = Math.max(3, Math.min(16, 560 / rows.length));
    const height = Math.ceil(rows.length * ch) + 20;
    const [canvas, pen] = surfaceFor(self, width, height);
    const paint = cellColours(block);
    const gap = cw > 6 && ch > 6 ? 1 : cw > 3 ? 0.4 : 0;
    pen.fillStyle = colour("hover");
    pen.fillRect(gutter, 0, cw * block.columns.length, rows.length * ch);
    self.hits = [];
    cells.row.forEach((row, k) => {
      const status = block.statuses[cells.status[k]].toLowerCase();
      if (!place.has(row) || chosen.hidden.has(status)) return;
      const [x, y] = [gutter + cells.column[k] * cw, place.get(row) * ch];
      pen.fillStyle = paint(k);
      pen.fillRect(x, y, Math.max(cw - gap, 0.7), ch - gap);
      const times = cells.runs[k] > 1 ? `, the best of ${cells.runs[k]}` : "";
      const lines = [block.rows[row], `${status} at ${fmt(cells.time[k])} ${block.unit}${times}`];
      const title = block.columns[cells.column[k]];
      self.hits.push({ px: x + cw / 2, py: y + ch / 2, title, lines, near: Math.max(cw / 2 + 2, ch, 6) });
    });
    matrixLabels(pen, self.block, rows, { gutter, cw, ch, height });
    self.node.dataset.marks = self.hits.length;
    interact(self, canvas);
  }

  function matrixLabels(pen, block, rows, { gutter, cw, ch, height }) {
    pen.fillStyle = colour("incumbent");
    rows.forEach((row, k) => {
      if (!block.marked[row]) return;
      const y = Math.max((k + 0.5) * ch, 4);
      pen.beginPath();
      [[2, y - 4], [10, y], [2, y + 4]].forEach((corner) => pen.lineTo(...corner));
      pen.fill();
    });
    pen.fillStyle = colour("soft");
    pen.font = `11.5px ${FONT}`;
    pen.fillText(`${block.columns.length} instances: easy`, gutter, height - 4);
    pen.textAlign = "right";
    pen.fillText("hard", Math.max(gutter + cw * block.columns.length, gutter + 160), height - 4);
  }

  // --- parallel coordinates ---

  function drawParallel(self) {
    const { block, chosen } = self;
    const width = Math.max(self.plot.clientWidth, 240);
    const [height, top, left] = [390, 68, 14];
    const bottom = height - 14;
    const axes = block.axes.slice(0, Math.max(3, Math.floor(width / 78)));
    const step = (width - left - 74) / Math.max(1, axes.length - 1);
    const x = (j) => +(left + j * step).toFixed(1);
    const y = (value) => +(bottom - value * (bottom - top)).toFixed(1);
    const svg = canvasFor(self, width, height, { role: "group" });
    const within = (value, range) => !range || (value !== null && value >= range[0] && value <= range[1]);
    const inside = block.labels.map((_, k) => axes.every((axis) => within(axis.values[k], chosen.brush[axis.name])));
    const weight = (k) => 4 * inside[k] + 2 * !!block.marked[k] + 1 - block.value[k];
    const order = block.labels.map((_, k) => k).sort((a, b) => weight(a) - weight(b));
    const ramp = rampOf();
    self.hits = [];
    for (const k of order) {
      const places = axes.map((axis, j) => (axis.values[k] === null ? null : [x(j), y(axis.values[k])]));
      drawConfiguration(svg, block, k, places, inside[k], ramp);
      if (inside[k])
        places.forEach((place, j) => {
          const lines = [`${axes[j].name} = ${fmt(axes[j].shown[k])}`, `expected ${fmt(block.cost[k])}`];
          if (place) self.hits.push({ px: place[0], py: place[1], title: block.labels[k], lines, near: 12 });
        });
    }
    const room = (j) => Math.min(step * 1.7, 150, width - x(j));
    axes.forEach((axis, j) => drawAxis(self, svg, axis, { x: x(j), y, top, bottom, room: room(j) }));
    self.node.dataset.marks = svg.querySelectorAll(".mark").length;
    const narrow = axes.length < block.axes.length ? `, ${axes.length} of ${block.axes.length} axes fit` : "";
    self.count.textContent = `${inside.filter(Boolean).length} of ${block.labels.length} lines${narrow}`;
    interact(self, svg);
  }

  function drawConfiguration(svg, block, k, places, inside, ramp) {
    const path = places.map((place, j) => (place ? `${j && places[j - 1] ? "L" : "M"}${place}` : "")).join("");
    const special = inside && block.marked[k];
    const hue = special ? colour(block.marked[k] === "default" ? "test" : "incumbent") : ramp(block.value[k]);
    draw(svg, "path", {
      class: inside ? "mark" : "out",
      d: path || "M0,0",
      fill: "none",
      stroke: inside ? hue : colour("grid"),
      "stroke-width": special ? 3 : 1.1,
      "stroke-opacity": special ? 1 : inside ? 0.75 : 0.5,
    });
  }

  function drawAxis(self, svg, axis, { x, y, top, bottom, room }) {
    const brush = self.chosen.brush[axis.name];
    const accent = colour("accent");
    const most = Math.max(6, Math.floor(room / 6));
    const turn = { transform: `rotate(-20 ${x} ${top - 12})` };
    const name = draw(svg, "text", { x, y: top - 12, fill: colour("ink"), ...turn }, shorten(axis.name, most));
    draw(name, "title", {}, axis.name);
    draw(svg, "line", { x1: x, x2: x, y1: top, y2: bottom, stroke: colour("soft") });
    if (brush) {
      const range = { y: y(brush[1]), height: y(brush[0]) - y(brush[1]) };
      draw(svg, "rect", { x: x - 6, width: 12, ...range, fill: accent, "fill-opacity": 0.3, stroke: accent });
    }
    const halo = { "font-size": 10.5, stroke: colour("card"), "stroke-width": 3, "paint-order": "stroke" };
    for (const [at, text] of axis.ticks)
      draw(svg, "text", { x: x + 6, y: y(at) + 4, fill: colour("soft"), ...halo }, shorten(text, 11));
    const label = `${axis.name}: drag, or press 1 to 4 for a quarter, Escape for all`;
    const area = { x: x - 12, width: 24, y: top - 4, height: bottom - top + 8, fill: "transparent", cursor: "ns-resize" };
    const state = brush ? `${fmt(brush[0])} to ${fmt(brush[1])}` : "all";
    const grip = draw(svg, "rect", {
      class: "grip", "data-axis": axis.name, ...area, tabindex: 0, role: "slider", "aria-label": label, "aria-valuetext": state,
    });
    makeBrush(self, svg, grip, axis.name, (place) => (bottom - place) / (bottom - top));
  }

  function makeBrush(self, svg, grip, name, valueAt) {
    const set = (range) => {
      if (range) self.chosen.brush[name] = range;
      else delete self.chosen.brush[name];
      self.draw();
    };
    grip.addEventListener("keydown", (event) => {
      const quarter = "1234".indexOf(event.key);
      if (quarter < 0 && event.key !== "Escape") return;
      set(quarter < 0 ? null : [quarter / 4, (quarter + 1) / 4]);
      [...self.plot.querySelectorAll(".grip")].find((other) => other.dataset.axis === name)?.focus();
    });
    grip.addEventListener("pointerdown", (event) => {
      const box = svg.getBoundingClientRect();
      const value = (moved) => Math.min(1, Math.max(0, valueAt(moved.clientY - box.top)));
      const start = value(event);
      const end = (moved) => {
        const range = [Math.min(start, value(moved)), Math.max(start, value(moved))];
        set(range[1] - range[0] < 0.02 ? null : range);
      };
      window.addEventListener("pointerup", end, { once: true });
      event.preventDefault();
    });
  }

  const KINDS = { xy: drawXY, bars: drawBars, matrix: drawMatrix, parallel: drawParallel };

  /* Draws ``self.block`` into ``self.plot``; a mark that is pointed at is told in ``self.said``. */
  function drawPlot(self) {
    tell(self, null);
    KINDS[self.block.kind](self);
  }

  return { el, button, fmt, colour, isLine, isLog, isOpen: (shape) => OPEN.has(shape), drawPlot };
})();
