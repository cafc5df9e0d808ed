import { times } from "./arithmetic.js";
import { Figure, box, chart, digits, slider, table } from "./base.js";

/* The logit of a word from one pair of a maxout layer, for two states, as the context changes. */
customElements.define("maxout-figure", class extends Figure {
  controls() {
    return slider("context", "Entry <i>c</i> of the context", -2, 2, 0.1, 1) + box("maxout", "Keep the larger of the pair", true);
  }
  draw({ context, maxout }, { states, joined }) {
    const pair = (s, c) => times(joined, [s, c]);
    const logit = (s, c) => (maxout ? Math.max(...pair(s, c)) : pair(s, c)[0]);
    const logits = states.map((s) => logit(s, context)), [higher, lower] = logits[0] > logits[1] ? states : [...states].reverse();
    const more = `the logit is higher if the state is ${digits(higher, 0)} than if it is ${digits(lower, 0)}`;
    return {
      view: chart(this.width, { x: [-2, 2], y: [-3, 3], at: context, label: "context c (solid: state 1, dashed: state −1)", lines: states.map((s, k) => (
        { f: (c) => logit(s, c), name: digits(s, 0), tone: k + 1 })) }),
      more: table("The logit from one pair", ["State", "First of the pair", "Second", "Logit"], states.map((s, k) => [
        digits(s, 0), ...pair(s, context).map((x) => `<td>${digits(x)}</td>`), `<td>${digits(logits[k])}</td>`])),
      says: `Logits ${digits(logits[0], 1)} and ${digits(logits[1], 1)}: ` + (!maxout ? `whatever the context, ${more}.` :
        logits[0] === logits[1] ? "both states are alike here." : `with this context, ${more}.`),
    };
  }
});
