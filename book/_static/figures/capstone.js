import { Figure, digits } from "./base.js";

const REST = 450; // milliseconds from word to word
const PAUSE = 600; // milliseconds after the last key
const MANY = 8; // columns: a phone shows no numbers

/* A trained model, and a heat map that fills row by row. */
class Translator extends Figure {
  models = {};
  written = Infinity;
  controls({ examples, labels }) {
    return `<label>${labels.source}<input name="sentence" list="${this.key}list" autocomplete="off" autocapitalize="off" spellcheck="false" value="${examples[0]}">
      <datalist id="${this.key}list">${examples.map((one) => `<option>${one}</option>`).join("")}</datalist></label><button>${labels.go}</button>`;
  }
  connectedCallback() {
    super.connectedCallback();
    this.live.addEventListener("submit", () => this.play());
    this.foot.insertAdjacentHTML("afterbegin", `<details><summary>Use your own model</summary><label>${this.data.labels.file}<input type="file" accept=".npz"></label></details>`);
    this.foot.addEventListener("change", ({ target }) => this.take(target.files[0]));
    this.addEventListener("dragover", (event) => event.preventDefault());
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    });
    /* The model comes at the first touch: its first example is in the page. */
    for (const touch of ["focusin", "pointerdown"]) this.addEventListener(touch, () => this.load());
    if (this.values.sentence !== this.data.examples[0]) this.play();
  }
  /* Leave the picture alone while somebody types. */
  changed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.keepAddress();
      this.play();
    }, PAUSE);
  }
  async load() {
    try {
      await (this.ours ??= fetch(this.data.url).then((answer) => (answer.ok ? this.model("Ours", answer.arrayBuffer()) : Promise.reject())));
    } catch {
      this.ours = undefined;
      this.missing = "Our model could not be loaded.";
    }
  }
  async model(name, bytes) {
    const { checked, readNpz } = (this.arithmetic = await import("./model.js"));
    this.models[name] = checked(await readNpz(await bytes), this.data.shapes);
  }
  async take(file) {
    try {
      if (file) await this.model("Yours", file.arrayBuffer());
      this.trouble = "";
    } catch (error) {
      this.trouble = `${file.name} cannot be used: ${error.message}.`;
    }
    this.play();
  }
  async play() {
    clearInterval(this.clock);
    clearTimeout(this.pause);
    await this.load();
    this.written = matchMedia("(prefers-reduced-motion: reduce)").matches ? Infinity : 0;
    this.show(this.written);
    this.clock = setInterval(() => {
      const over = ++this.written >= this.longest;
      if (over) clearInterval(this.clock);
      this.show(over);
    }, REST);
  }
  draw({ sentence }, { examples, source, target, limits, labels }) {
    const words = sentence.toLowerCase().normalize().match(labels.separator ? /[\p{L}\p{M}\p{N}]+/gu : /[\p{L}\p{N}]/gu) ?? [];
    const strange = words.find((word) => source.indexOf(word) < limits.first);
    const wrong = !words.length ? labels.empty : strange !== undefined ? `${labels.unknown} “${strange}”. ${labels.known}`
      : words.length > limits.longest ? labels.long : "";
    const models = Object.entries(this.models).sort();
    if (wrong || !models.length) {
      const [view, says] = this.querySelector(".still .first").children; // of the first example
      this.longest = 0;
      return { view: this.picture ?? view.outerHTML, says: this.trouble || wrong || this.missing || (sentence === examples[0] ? says.innerHTML : "The trained model is loading.") };
    }
    const translations = models.map(([name, p]) => [name, this.arithmetic.translate(p, this.arithmetic.read(p, words.map((word) => source.indexOf(word))), limits)]);
    this.longest = Math.max(...translations.map(([, steps]) => steps.length));
    const named = (word) => (word === limits.stop ? "STOP" : `<span${labels.lang ? ` lang="${labels.lang}"` : ""}>${target[word].replace("<", "&lt;")}</span>`);
    const heat = ([name, steps], written) => `<div class="wide" tabindex="0" role="region" aria-label="${name}"><table class="heat${words.length >= MANY ? " many" : ""}">
      <caption><span>${name}: ${labels.written}s written (rows), ${labels.read}s read (columns)</span></caption>
      <thead><tr><th scope="col">written</th>${words.map((word) => `<th scope="col" data-word="${word}">${word}</th>`).join("")}<th scope="col">prob.</th></tr></thead>
      <tbody>${steps.map(({ word, weights, probability }, row) => `<tr${row < written ? "" : ' class="coming"'}><th scope="row">${named(word)}</th>${weights.map((w) =>
        `<td style="--w:${Math.round(100 * w)}%" title="${digits(w, 2)}">${digits(w, 2)}</td>`).join("")}<td>${digits(probability, 2)}</td></tr>`).join("")}</tbody></table></div>`;
    const picture = (written) => `<div class="beside">${translations.map((translation) => heat(translation, written)).join("")}</div>`;
    this.picture = picture(Infinity);
    const spoken = translations.map(([name, steps]) => `${name}: ${steps.map(({ word }) => named(word)).join(" ")}${steps.at(-1).word === limits.stop ? "." : ` … This has been cut off: the model did not stop after ${steps.length} ${labels.written}s.`}`);
    return { view: picture(this.written), says: `${this.trouble ?? ""} ${spoken.join(" ")}` };
  }
}
customElements.define("capstone-figure", class extends Translator {});
customElements.define("spelling-figure", class extends Translator {});
