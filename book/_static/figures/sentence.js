/* <sentence-figure>: a sentence of the capstone's language, built from its words, and what the trained model writes. */
import { read, translate } from "./model.js";
import { Touched, options } from "./touched.js";

const MOST = 4; // nouns
const TONES = { reason: 1, with: 2, logic: 3 }; // of the running example; other words have the fourth

/* The sentence after a choice: nouns in the order in which they were chosen, and what joins them. `now` are the chosen nouns, and
   `at` is the joint that has been chosen, if any. In this language, no "with" follows another. */
export function choose({ nouns, joints }, now, at) {
  joints = [...joints];
  if (at && joints[at] === "with") joints[at - 1] = "and";
  for (const gone of nouns.filter((noun) => !now.includes(noun))) {
    joints.splice(Math.max(nouns.indexOf(gone) - 1, 0), 1);
    nouns = nouns.filter((noun) => noun !== gone);
  }
  nouns = [...new Set([...nouns, ...now])].slice(0, MOST);
  while (joints.length < nouns.length - 1) joints.push("with");
  joints.forEach((joint, k) => k && joint === "with" && joints[k - 1] === "with" && (joints[k] = "and"));
  return { nouns, joints };
}

customElements.define("sentence-figure", class extends Touched {
  update(target) {
    const { form, shown } = this, values = new FormData(form), at = [...form.querySelectorAll("select")].indexOf(target);
    const next = choose({ nouns: shown.nouns, joints: values.getAll("joint") }, values.getAll("noun"), at);
    const same = String([next.nouns, next.joints]) === String([shown.nouns, shown.joints]);
    this.shown = { ...next, written: same ? values.get("written") : "0" };
    for (const box of form.elements.noun) {
      box.checked = next.nouns.includes(box.value);
      box.disabled = next.nouns.length === MOST && !box.checked;
    }
    const { sentence, written, says } = this.draw(this.shown);
    this.part("sentence").innerHTML = sentence;
    if (!same) this.part("written").innerHTML = written;
    form.querySelectorAll("select")[at]?.focus();
    return says;
  }
  draw({ nouns, joints, written }) {
    const { source, target, gloss, limits } = this.data, words = nouns.flatMap((noun, k) => (k ? [joints[k - 1], noun] : [noun]));
    const steps = words.length ? translate(this.p, read(this.p, words.map((word) => source.indexOf(word))), limits) : [], now = steps[written];
    const name = ({ word }) => (word === limits.stop ? "STOP" : `<span lang="hi">${target[word]}</span>`);
    const joint = (word, j) => `<select name="joint" aria-label="Between ${words[j - 1]} and ${words[j + 1]}">${options([["with", "with"], ["and", "and"]], word)}</select><span>${word}</span>`;
    const most = now?.weights.indexOf(Math.max(...now.weights));
    return {
      sentence: words.map((word, j) => `<b class="s${TONES[word] ?? 4}" style="--w:${Math.round(100 * now.weights[j])}%">${j % 2 ? joint(word, j) : word}<small>${now.weights[j].toFixed(2)}</small></b>`).join(""),
      written: steps.map((step, i) => `<label><input type="radio" name="written" value="${i}"${i === Number(written) ? " checked" : ""}>${name(step)}<small>${gloss[step.word]}</small></label>`).join(""),
      says: now ? `To write ${name(now)}, the model looks most at <i>${words[most]}</i>: weight ${now.weights[most].toFixed(2)}. It gives ${name(now)} the probability ${now.probability.toFixed(2)}.` : "Choose a noun.",
    };
  }
  /* The whole figure before anybody has touched it. */
  html({ shown, nouns, note }) {
    const { sentence, written, says } = this.draw(shown);
    return `<form autocomplete="off"><fieldset class="controls"><legend>Choose up to four nouns</legend><div class="chips nouns">${nouns.map((noun) =>
      `<label><input type="checkbox" name="noun" value="${noun}"${shown.nouns.includes(noun) ? " checked" : ""}>${noun}</label>`).join("")}</div></fieldset>
      <fieldset><legend>Your sentence, with the weight of each word</legend><div class="chips sentence">${sentence}</div></fieldset>
      <fieldset><legend>What the model writes: choose a word</legend><div class="chips written">${written}</div></fieldset>
      <p class="says" role="status">${says}</p><p class="note">${note}</p></form>`;
  }
});
