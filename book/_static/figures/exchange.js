/* <exchange-figure>: give one letter of a word the annotation that it has in another word, or none, and see what the trained
   model writes. */
import { read, translate } from "./model.js";
import { Touched, options } from "./touched.js";

const [OWN, NONE, EVERY] = ["own", "none", "every"]; // of the controls, beside other words and numbers of steps

/* The steps in which the model writes `word`, after the annotation of one letter has been changed at one step or at every one.
   `kept` keeps what has been read. */
export function pronounce(p, { word, letter, by, at }, { source, limits }, kept = {}) {
  const annotated = (word) => (kept[word] ??= read(p, [...word].map((x) => source.indexOf(x)))), j = Number(letter);
  const other = [OWN, NONE].includes(by) ? [] : annotated(by)[0];
  return translate(p, annotated(word), limits, (keys, step) =>
    by === OWN || (at !== EVERY && Number(at) !== step) ? [keys] : by === NONE ? [keys, keys.map((_, k) => k !== j)] : [keys.with(j, other[j])],
  );
}

/* For each item of two lists, whether it is missing from their longest common subsequence. */
export function differences(a, b) {
  const common = [...a, ""].map(() => [...b, ""].map(() => 0)); // its length, from i and j on
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const marks = [a.map(() => true), b.map(() => true)];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) marks[0][i++] = marks[1][j++] = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return marks;
}

const letters = (word, chosen) => `<legend>Letter</legend>${[...word].map((x, j) =>
  `<label><input type="radio" name="letter" value="${j}" aria-label="${x}, letter ${j + 1}"${j === Number(chosen) ? " checked" : ""}>${x}</label>`).join("")}`;
const annotations = ({ words }, { word, letter, by }) =>
  options([[OWN, "as it is"], [NONE, "forbidden"], ...words[word].map((other) => [other, `that of ${other[letter]} in ${other}`])], by);

customElements.define("exchange-figure", class extends Touched {
  kept = {};
  unchanged = {};
  update() {
    let values = Object.fromEntries(new FormData(this.form));
    if (values.word !== this.shown.word) {
      values = { word: values.word, letter: "0", by: OWN, at: EVERY };
      this.part("letter").innerHTML = letters(values.word, 0);
      this.form.at.innerHTML = this.steps(values);
    }
    if (values.word !== this.shown.word || values.letter !== this.shown.letter) this.form.by.innerHTML = annotations(this.data, values);
    this.shown = values;
    const { view, says } = this.draw(values);
    this.part("view").innerHTML = view;
    return says;
  }
  /* What the model writes: the phonemes with STOP, and their weights. */
  write(values) {
    return pronounce(this.p, values, this.data, this.kept).map(({ word, weights }) => [word === this.data.limits.stop ? "STOP" : this.data.target[word], weights]);
  }
  before(word) {
    return (this.unchanged[word] ??= this.write({ word, by: OWN }));
  }
  steps({ word, at }) {
    return options([[EVERY, "every step"], ...this.before(word).map(([phoneme], k) => [String(k), `step ${k + 1} only: ${phoneme}`])], at);
  }
  /* The whole figure before anybody has touched it. */
  html(data) {
    const { shown, words } = data, { view, says } = this.draw(shown);
    return `<form autocomplete="off"><div class="controls">
      <label>Word<select name="word">${options(Object.keys(words).map((word) => [word, word]), shown.word)}</select></label>
      <fieldset class="chips letter">${letters(shown.word, shown.letter)}</fieldset>
      <label>Its annotation<select name="by">${annotations(data, shown)}</select></label>
      <label>Changed at<select name="at">${this.steps(shown)}</select></label></div>
      <div class="view">${view}</div><p class="says" role="status">${says}</p></form>`;
  }
  draw(values) {
    const { word, letter, by, at } = values, now = this.write(values), before = this.before(word);
    const phonemes = (steps) => steps.map(([phoneme]) => phoneme).filter((phoneme) => phoneme !== "STOP");
    const [lost, gained] = differences(phonemes(before), phonemes(now));
    const same = !lost.includes(true) && !gained.includes(true);
    const marked = (steps, marks, tag) => phonemes(steps).map((phoneme, k) => (marks[k] ? `<${tag}>${phoneme}</${tag}>` : phoneme)).join(" ");
    const head = [...word].map((x, j) => (j !== Number(letter) || by === OWN ? x : by === NONE ? `<del>${x}</del>` : `<ins>${by[j]}</ins>`));
    const what = by === NONE ? `Without the <i>${word[letter]}</i>` : `With the annotation of <i>${by[letter]}</i> in <i>${by}</i> in place of that of <i>${word[letter]}</i>`;
    const when = at === EVERY ? "" : ` at step ${Number(at) + 1} only`;
    return {
      view: `<dl><dt>As it is</dt><dd>${marked(before, lost, "del")}</dd><dt>Now</dt><dd>${marked(now, gained, "ins")}</dd></dl>
        <div class="wide" tabindex="0" role="region" aria-label="Weights now"><table class="heat many"><caption><span>Weights now: phonemes written (rows), letters read (columns)</span></caption>
        <thead><tr><th scope="col">written</th>${head.map((x) => `<th scope="col">${x}</th>`).join("")}</tr></thead>
        <tbody>${now.map(([phoneme, weights], k) => `<tr><th scope="row">${gained[k] ? `<ins>${phoneme}</ins>` : phoneme}</th>${weights.map((w) =>
          `<td style="--w:${Math.round(100 * w)}%">${w < 0.005 ? "" : w.toFixed(2)}</td>`).join("")}</tr>`).join("")}</tbody></table></div>`,
      says: by === OWN ? "Every letter has its own annotation." : `${what}${when}, ${same ? "no phoneme changes" : `the model writes ${phonemes(now).join(" ")}`}.`,
    };
  }
});
