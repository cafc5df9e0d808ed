/* <scoring-figure> and its family: native controls above, a drawn view below, all from the JSON that the page computed.
   A figure defines controls(data), and draw(values, data) -> {view, says, more}: HTML, a sentence that is also read aloud,
   and HTML with every value, which unfolds on demand. */
export const WIDE = 560; // pixels: above this, two drawings fit side by side
export const digits = (x, n = 4) => (Number.isNaN(x) ? "no number" : Math.abs(x) === Infinity ? "∞" :
  (Math.abs(x) < 0.5 * 10 ** -n ? 0 : x).toFixed(n).replace("-", "−"));
export const hindi = (word) => (/[\u0900-\u097f]/.test(word) ? `<span lang="hi">${word}</span>` : word);
export const list = (x, n = 4) => `(${x.map((y) => digits(y, n)).join(", ")})`;
const percent = (x, [low, high]) => (100 * (Math.min(Math.max(x, low), high) - low)) / (high - low);

export const slider = (name, label, min, max, step, value) =>
  `<label>${label}: <b class="value"></b><input type="range" name="${name}" min="${min}" max="${max}" step="${step}" value="${+value.toFixed(6)}"></label>`;
export const box = (name, label, on) => `<label class="row"><input type="checkbox" name="${name}"${on ? " checked" : ""}> ${label}</label>`;
export const radios = (name, legend, options) =>
  `<fieldset><legend>${legend}</legend>${Object.entries(options).map(([value, label], k) =>
    `<label class="row"><input type="radio" name="${name}" value="${value}"${k ? "" : " checked"}> ${label}</label>`).join("")}</fieldset>`;

/* A bar from 0 to x on the scale `span`. */
export function bar(x, span, tone = 1) {
  const [a, b] = [percent(Math.min(0, x), span), percent(Math.max(0, x), span)];
  return `<i class="bar" aria-hidden="true" style="--zero:${percent(0, span)}%"><b class="t${tone}" style="left:${a}%;width:${b - a}%"></b></i>`;
}
export const cell = (x, span, tone, n) => `<td>${digits(x, n)}${bar(x, span, tone)}</td>`;
export const table = (caption, head, rows) =>
  `<table><caption>${caption}</caption><thead><tr>${head.map((h) => `<th scope="col">${h}</th>`).join("")}</tr></thead>
   <tbody>${rows.map(([name, ...cells]) => `<tr><th scope="row">${name}</th>${cells.join("")}</tr>`).join("")}</tbody></table>`;

export const svg = (width, height, inside, more = "") =>
  `<svg aria-hidden="true" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"${more}>${inside}</svg>`;
export const text = (x, y, words, anchor = "middle", tone = "") => `<text x="${x}" y="${y}" text-anchor="${anchor}" class="${tone}">${words}</text>`;

const apart = (labels) => labels.sort(([a], [b]) => a - b).map(([y, name], k, all) => (all[k][0] = k ? Math.max(y, all[k - 1][0] + 15) : y, [all[k][0], name]));

/* Lines y = f(x) with a cursor at x. */
export function chart(width, { x: [x0, x1], y: [y0, y1], at, lines, label }) {
  const height = 240, X = (x) => 44 + ((x - x0) / (x1 - x0)) * (width - 70), Y = (y) => 205 - ((y - y0) / (y1 - y0)) * 190;
  const ticks = [y0, 0, y1].filter((y, k) => k !== 1 || (y0 < -0.1 * (y1 - y0) && y1 > 0.1 * (y1 - y0)));
  const steps = [...Array(81).keys()].map((k) => x0 + (k * (x1 - x0)) / 80);
  return svg(width, height,
    ticks.map((y) => `<path class="grid" d="M44 ${Y(y)}H${width - 26}"/>` + text(38, Y(y) + 4, digits(y, 1), "end")).join("") +
    `<path class="cursor" d="M${X(at)} 15V205"/>` + [x0, 0, x1].map((x) => text(X(x), 222, digits(x, 0))).join("") +
    text((width + 18) / 2, 238, label) +
    lines.map(({ f, name, tone }) => `<path class="line l${tone}" d="M${steps.map((x) => `${X(x)} ${Y(f(x))}`).join("L")}"/>
      <circle class="t${tone}" cx="${X(at)}" cy="${Y(f(at))}" r="4.5"/>`).join("") +
    apart(lines.map(({ f, name }) => [Y(f(x1)) + 4, name])).map(([y, name]) => text(width - 22, y, name, "start")).join(""));
}

/* The regions of one tone each, in stripes of 4 pixels. */
function stripes(width, height, tone) {
  const paths = {};
  for (let y = 10; y < height - 10; y += 4) {
    for (let from = 10, x = 10, here = tone(x + 2, y + 2); x < width - 10; x += 4) {
      const next = x + 4 < width - 10 ? tone(x + 6, y + 2) : 0;
      if (next === here) continue;
      paths[here] = `${paths[here] ?? ""}M${from} ${y}h${x + 4 - from}v4h${from - x - 4}z`;
      [from, here] = [x + 4, next];
    }
  }
  return Object.entries(paths).map(([tone, path]) => `<path class="t${tone} region" d="${path}"/>`).join("");
}

/* Points {at, name, tone, handle}, arrows {from, to, tone}, a polygon, and regions {tone: place => tone, kept: {} across draws}. */
export function plane(width, [x0, x1, y0, y1], { points, arrows = [], area = [[0, 0]], regions }) {
  const scale = (width - 20) / (x1 - x0), height = Math.round((y1 - y0) * scale + 20);
  const at = ([x, y]) => [10 + (x - x0) * scale, height - 10 - (y - y0) * scale];
  const line = (points) => points.map((p) => at(p).join(" ")).join("L");
  const tone = (a, b) => regions.tone([x0 + (a - 10) / scale, y0 + (height - 10 - b) / scale]);
  return svg(width, height,
    (regions ? (regions.kept[width] ??= stripes(width, height, tone)) : "") + `<path class="grid" d="M${line([[x0, 0], [x1, 0]])}M${line([[0, y0], [0, y1]])}"/><path class="area" d="M${line(area)}Z"/>` +
    arrows.map(({ from, to, tone }) => {
      const [[a, b], [c, d]] = [at(from), at(to)], turn = (Math.atan2(d - b, c - a) * 180) / Math.PI;
      return `<path class="line l${tone}" d="M${a} ${b}L${c} ${d}"/><path class="t${tone}" d="M0 0l-9-4v8z" transform="translate(${c} ${d})rotate(${turn})"/>`;
    }).join("") +
    points.map(({ at: p, name, tone, handle }) => {
      const [a, b] = at(p);
      const dot = (r) => `<circle class="t${tone}" cx="${a}" cy="${b}" r="${r}"/>`, left = a > width - 30 || handle;
      return text(a + (left ? -11 : 10), b + (b < 20 ? 16 : -8), name, left ? "end" : "start") + (handle ? `<g class="handle">${dot(22)}${dot(9)}</g>` : dot(5));
    }).join(""), ` data-plane="${[x0, y1, scale]}"`);
}

export class Figure extends HTMLElement {
  connectedCallback() {
    if (this.live) return;
    this.data = JSON.parse(this.querySelector('script[type="application/json"]').textContent);
    this.key = this.localName.replace("-figure", ".");
    const still = document.createElement("div");
    still.className = "still";
    still.append(...this.childNodes);
    this.live = document.createElement("form");
    this.live.innerHTML = `<div class="controls">${this.controls(this.data)}</div><div class="view"></div>
      <p class="says" role="status"></p><details class="more" hidden><summary>Every value</summary><div class="values"></div></details>
      <p class="foot"><a>Link to this view</a> <button type="reset">Reset</button></p>`;
    this.append(this.live, still);
    this.inputs = [...this.live.elements].filter((input) => input.name);
    this.view = this.live.querySelector(".view");
    const asked = new URLSearchParams(location.search);
    for (const input of this.inputs) {
      const value = asked.get(this.key + input.name);
      if (value === null) continue;
      if (input.type === "radio") input.checked = input.value === value;
      else if (input.type === "checkbox") input.checked = value === "on";
      else input.value = value;
    }
    this.live.addEventListener("submit", (event) => event.preventDefault());
    this.live.addEventListener("input", () => this.changed());
    this.keepSlidersWhileScrolling();
    this.live.addEventListener("reset", () => setTimeout(() => this.changed()));
    /* A finger on the handle drags; anywhere else it scrolls. Chromium ignores touch-action on shapes within an SVG. */
    this.view.addEventListener("touchstart", (event) => event.target.closest(".handle") && event.preventDefault(), { passive: false });
    this.view.addEventListener("pointerdown", (event) => {
      this.held = event.target.closest(".handle");
      if (!this.held) return;
      event.preventDefault();
      this.held = this.held.dataset.handle;
      this.view.setPointerCapture(event.pointerId);
    });
    this.view.addEventListener("pointermove", (event) => {
      if (!this.view.hasPointerCapture(event.pointerId)) return;
      const drawn = this.view.querySelector("[data-plane]"), box = drawn.getBoundingClientRect();
      const [x0, y1, scale] = drawn.dataset.plane.split(",").map(Number);
      this.drag([x0 + (event.clientX - box.left - 10) / scale, y1 - (event.clientY - box.top - 10) / scale], this.held);
      this.changed();
    });
    new ResizeObserver(([{ contentRect }]) => contentRect.width !== this.width && this.show()).observe(this.view);
    this.show(true);
  }
  /* A finger that scrolls the page from a slider has already moved it: put it back. */
  keepSlidersWhileScrolling() {
    let touched;
    this.live.addEventListener("pointerdown", ({ target, pointerType }) => {
      touched = target.type === "range" && pointerType === "touch" ? { target, value: target.value } : undefined;
    }, { capture: true });
    this.live.addEventListener("pointercancel", () => {
      if (!touched) return;
      touched.target.value = touched.value;
      touched = undefined;
      this.changed();
    });
  }
  get values() {
    const values = {};
    for (const { type, name, value, checked } of this.inputs) {
      if (type === "checkbox") values[name] = checked;
      else if (type !== "radio" || checked) values[name] = type === "range" ? Number(value) : value;
    }
    return values;
  }
  set(values) {
    for (const input of this.inputs) if (input.name in values) input.value = values[input.name];
  }
  format(name, value) {
    return digits(value, 2);
  }
  show(speak) {
    this.width = this.view.clientWidth;
    const { view, says, more } = this.draw(this.values, this.data), details = this.live.querySelector(".more");
    this.view.innerHTML = view;
    if (more) {
      details.hidden = false;
      details.lastChild.innerHTML = more;
    }
    for (const input of this.inputs) {
      if (input.type !== "range") continue;
      const text = this.format(input.name, Number(input.value));
      input.parentElement.querySelector(".value").textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
    if (speak) this.live.querySelector(".says").innerHTML = says;
    this.live.querySelector(".foot a").href = this.address();
    return says;
  }
  address() {
    const address = new URL(location);
    for (const { name, type, value, checked, defaultValue, defaultChecked } of this.inputs) {
      if (type === "radio" ? checked && defaultChecked : type === "checkbox" ? checked === defaultChecked : value === defaultValue)
        address.searchParams.delete(this.key + name);
      else if (type !== "radio" || checked) address.searchParams.set(this.key + name, type === "checkbox" ? (checked ? "on" : "off") : value);
    }
    address.hash = this.id;
    return address.href;
  }
  /* Draw at once; update the sentence and the address after a pause in the input. */
  changed() {
    this.show();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.show(true);
      this.keepAddress();
    }, 300);
  }
  keepAddress() {
    try {
      history.replaceState(history.state, "", this.address());
    } catch {} // a page opened from a file may not change its address
  }
}
