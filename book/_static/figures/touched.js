/* A figure that the page holds as HTML: its module, its data and its trained model come at the first touch. */
import { checked, readNpz } from "./model.js";

export const options = (labels, chosen) =>
  labels.map(([value, label]) => `<option value="${value}"${value === chosen ? " selected" : ""}>${label}</option>`).join("");

const get = (url) => fetch(url).then((answer) => (answer.ok ? answer : Promise.reject()));

export class Touched extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.form.addEventListener("change", ({ target }) => this.respond(target));
    this.respond();
  }
  async load() {
    this.data = await (await get(this.dataset.numbers)).json();
    this.shown = this.data.shown;
    await this.model("", (await get(this.data.url)).arrayBuffer());
  }
  async model(_, bytes) {
    this.p = checked(await readNpz(await bytes), this.data.shapes);
  }
  async respond(target) {
    const says = this.part("says");
    try {
      if (!this.p) says.textContent = "The trained model is loading.";
      await (this.loading ??= this.load());
    } catch {
      this.loading = undefined;
      says.textContent = "The trained model could not be loaded.";
      return;
    }
    says.innerHTML = this.update(target);
  }
  part(name) {
    return this.form.querySelector("." + name);
  }
}
