/* Write what a moving figure shows at first, as HTML: the words to choose from if it has any, its view, and its sentence. Some
   modules write the whole figure themselves.
   Arguments: its module, the name of its element, a width in pixels and, if it runs a trained model, the model's file.
   Standard input: its data as JSON. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, element, width, model] = process.argv.slice(2);
let Figure;
globalThis.HTMLElement = class {};
globalThis.customElements = { define: (name, made) => name === element && (Figure = made) };
await import(pathToFileURL(module));

const data = JSON.parse(readFileSync(0, "utf-8")), figure = Object.assign(new Figure(), { data, width: Number(width), written: Infinity });
if (model) await figure.model("Ours", new Uint8Array(readFileSync(model)).buffer);
const controls = figure.controls?.(data) ?? "";

/* The values of its inputs, as in a browser that nobody has touched. */
const values = {};
for (const [input] of controls.matchAll(/<input [^>]*>/g)) {
  const { type, name, value } = Object.fromEntries([...input.matchAll(/ (\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text]));
  const checked = input.includes(" checked");
  if (type === "checkbox") values[name] = checked;
  else if (type !== "radio" || checked) values[name] = type === "range" ? Number(value) : value;
}

const words = controls.includes('class="chips"')
  ? controls.replace("<fieldset", "<div").replace("</fieldset>", "</div>").replace(/<legend>.*?<\/legend>/s, "")
      .replace(/<label><input([^>]*)>(.*?)<\/label>/gs, (_, input, word) => `<b${input.includes(" checked") ? ' class="chosen"' : ""}>${word}</b>`)
  : "";
function drawStill() {
  const { view, says } = figure.draw(values, data), still = view.replace(/ Drag [^.]*\.| title="[^"]*"/g, ""); // nobody can drag or point, here
  return `<div class="first">${words}${still}<p>${says}</p></div>`;
}
process.stdout.write(figure.html?.(data) ?? drawStill());
