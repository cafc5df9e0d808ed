/* A figure defines controls(data), of the page's JSON, and draw(values, data) -> {view, says, more}: HTML, a sentence that is
   also read aloud, and HTML with every value, which unfolds on demand. */
export const WIDE = 560; // pixels: above this, two drawings fit side by side
export const digits = (x, n = 4) => (Number.isNaN(x) ? "no number" : Math.abs(x) === Infinity ? "∞" :
  (Math.abs(x) < 0.5 * 10 ** -n ? 0 : x).toFixed(n).replace("-", "−"));
export const hindi = (word) => (/[\u0900-\u097f]/.test(word) ? `<span lang="hi">${word}</span>` : word);
export const list = (x, n = 4) => `(${x.map((y) => digits(y, n)).join(", ")})`;
const percent = (x, [low, high]) => (100 * (Math.min(Math.max(x, low), high) - low)) / (high - low);

export const slider = (name, label, min, max, step, value) =>
  `<label>${label}: <b class="value"></b><input type="range" name="${name}" min="${min}" max="${max}" step="${step}" value="${+value.toFixed(6)}"></label>`;
/* Sliders for the keyboard, of values that a handle in the picture changes: hidden until they have the focus. */
export const quiet = (sliders) => `<div class="quiet">${sliders.join("")}</div>`;
export const box = (name, label, on) => `<div class="rows"><label><input type="checkbox" name="${name}"${on ? " checked" : ""}>${label}</label></div>`;
export const radios = (name, legend, options, kind = "rows", chosen = 0) =>
  `<fieldset class="${kind}"><legend>${legend}</legend>${Object.entries(options).map(([value, label], k) =>
    `<label><input type="radio" name="${name}" value="${value}"${k === chosen ? " checked" : ""}>${label}</label>`).join("")}</fieldset>`;

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

export const apart = (labels) => labels.sort(([a], [b]) => a - b).map(([y, name], k, all) => (all[k][0] = k ? Math.max(y, all[k - 1][0] + 15) : y, [all[k][0], name]));

export class Figure extends HTMLElement {
  connectedCallback() {
    if (this.live) return;
    this.data = JSON.parse(this.querySelector('script[type="application/json"]').textContent);
    this.key = this.localName.replace("-figure", ".");
    const still = document.createElement("div");
    still.className = "still";
    still.append(...this.childNodes);
    this.live = document.createElement("form");
    this.live.innerHTML = `<div class="controls">${this.controls(this.data)}</div><div class="view"></div><p class="says" role="status"></p>`;
    this.append(this.live, still);
    const caption = this.closest("figure").querySelector("figcaption");
    caption.insertAdjacentHTML("beforeend", `<div class="foot"><details class="more" hidden><summary>Every value</summary><div class="values"></div></details><a>Link to this view</a><button>Reset</button></div>`);
    this.foot = caption.lastChild;
    this.foot.lastChild.addEventListener("click", () => this.live.reset());
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
    this.live.addEventListener("reset", () => setTimeout(() => this.changed()));
    /* A finger that scrolls the page from a slider has already moved it: put it back. */
    let touched;
    this.live.addEventListener("pointerdown", ({ target }) => (touched = target.type === "range" && { target, value: target.value }));
    this.live.addEventListener("pointercancel", () => {
      if (!touched) return;
      touched.target.value = touched.value;
      this.changed();
    });
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
    const { view, says, more } = this.draw(this.values, this.data), details = this.foot.firstChild;
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
    this.foot.querySelector("a").href = this.address();
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
