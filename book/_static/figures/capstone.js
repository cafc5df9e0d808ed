import { Figure, digits } from "./base.js";

const REST = 450; // milliseconds from word to word
const PAUSE = 600; // milliseconds without a key, after which a sentence counts as typed
const MANY = 8; // columns of a heat map, from which a phone shows no numbers

/* A trained model that reads words or letters, and a heat map that fills row by row. */
class Translator extends Figure {
  models = {};
  controls({ examples, labels }) {
    return `<label>${labels.source}<input name="sentence" list="${this.key}list" autocomplete="off" autocapitalize="off" spellcheck="false" value="${examples[0]}">
      <datalist id="${this.key}list">${examples.map((one) => `<option>${one}</option>`).join("")}</datalist></label>
      <label>${labels.file}<input type="file" accept=".npz"></label><p><button>${labels.go}</button></p>`;
  }
  connectedCallback() {
    super.connectedCallback();
    this.live.addEventListener("submit", () => this.play());
    this.live.addEventListener("change", ({ target }) => target.type === "file" && this.take(target.files[0]));
    this.addEventListener("dragover", (event) => event.preventDefault());
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    });
    this.playWhenSeen();
  }
  /* Leave the picture alone while somebody types. */
  changed() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.keepAddress();
      this.play();
    }, PAUSE);
  }
  /* Run the model as soon as the figure is visible, after the page itself has loaded. */
  async playWhenSeen() {
    if (document.readyState !== "complete") await new Promise((resolve) => addEventListener("load", resolve, { once: true }));
    new IntersectionObserver(([{ isIntersecting }], observer) => {
      if (!isIntersecting) return;
      observer.disconnect();
      if (!this.ours) this.play();
    }).observe(this);
  }
  /* Read a model, and fetch the code that computes with it when it is first needed. */
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
  /* Show the translation word by word. */
  async play() {
    clearInterval(this.clock);
    clearTimeout(this.pause);
    try {
      this.ours ??= fetch(this.data.url).then((answer) => (answer.ok ? this.model("Ours", answer.arrayBuffer()) : Promise.reject()));
      await this.ours;
    } catch {
      this.ours = undefined;
      this.trouble ||= "Our model could not be loaded.";
    }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.written = still ? Infinity : 0;
    this.show(still);
    this.clock = setInterval(() => {
      this.written++;
      const over = this.written >= this.longest;
      if (over) clearInterval(this.clock);
      this.show(over);
    }, REST);
  }
  draw({ sentence }, { source, target, limits, labels, rows }) {
    const words = sentence.toLowerCase().normalize().match(labels.separator ? /[\p{L}\p{M}\p{N}]+/gu : /[\p{L}\p{N}]/gu) ?? [];
    const strange = words.find((word) => source.indexOf(word) < limits.first);
    const wrong = !words.length ? labels.empty : strange !== undefined ? `${labels.unknown} “${strange}”. ${labels.known}`
      : words.length > limits.longest ? labels.long : "";
    const models = Object.entries(this.models).sort();
    if (wrong || (this.trouble && !models.length)) {
      this.longest = 0;
      return { view: this.picture ?? "", says: this.trouble || wrong };
    }
    const blank = { word: limits.stop, weights: words.map(() => 0), probability: 0 };
    const translations = models.length ? models.map(([name, p]) => [name, this.arithmetic.translate(p, this.arithmetic.read(p, words.map((word) => source.indexOf(word))), limits)])
      : [["Ours", Array(rows).fill(blank)]]; // as tall from the start as it will be
    this.longest = Math.max(...translations.map(([, steps]) => steps.length));
    const cutOff = (steps) => (steps.at(-1).word === limits.stop ? "." : ` … This has been cut off: the model did not stop after ${steps.length} ${labels.written}s.`);
    const named = (word) => (word === limits.stop ? "STOP" : `<span${labels.lang ? ` lang="${labels.lang}"` : ""}>${target[word].replace("<", "&lt;")}</span>`);
    const heat = ([name, steps], written) => `<div class="wide" tabindex="0" role="region" aria-label="${name}"><table class="heat${words.length >= MANY ? " many" : ""}">
      <caption><span>${name}: ${labels.written}s written (rows), ${labels.read}s read (columns)</span></caption>
      <thead><tr><th scope="col">written</th>${words.map((word) => `<th scope="col" data-word="${word}">${word}</th>`).join("")}<th scope="col">prob.</th></tr></thead>
      <tbody>${steps.map(({ word, weights, probability }, row) => `<tr${row < written ? "" : ' class="coming"'}><th scope="row">${named(word)}</th>${weights.map((w) =>
        `<td style="--w:${Math.round(100 * w)}%" title="${digits(w, 2)}">${digits(w, 2)}</td>`).join("")}<td>${digits(probability, 2)}</td></tr>`).join("")}</tbody></table></div>`;
    const picture = (written) => `<div class="beside">${translations.map((translation) => heat(translation, written)).join("")}</div>`;
    if (models.length) this.picture = picture(Infinity);
    const spoken = translations.map(([name, steps]) => `${name}: ${steps.map(({ word }) => named(word)).join(" ")}${cutOff(steps)}`);
    return { view: picture(this.written ?? 0), says: !models.length ? labels.idle : `${this.trouble ?? ""} ${spoken.join(" ")}` };
  }
}
customElements.define("capstone-figure", class extends Translator {});
customElements.define("spelling-figure", class extends Translator {});
