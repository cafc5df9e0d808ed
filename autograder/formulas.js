// Typeset formulas by KaTeX, whose script is the argument. Each line of the input is a formula as JSON, {"tex", "block"};
// each is answered by one line, {"html"} or {"error"}.
const katex = require(process.argv[2]);

// What KaTeX finds dubious is a mistake too, but for these: letters of other scripts in a text, and lines of a displayed formula.
const allowed = ["unicodeTextInMathMode", "newLineInDisplayMode"];
let complaints = [];
console.warn = (message) => complaints.push(message);

require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { tex, block } = JSON.parse(line);
  complaints = [];
  let answer;
  try {
    const strict = (code) => (allowed.includes(code) ? "ignore" : "error");
    answer = { html: katex.renderToString(tex, { displayMode: block, strict, maxSize: 20 }) };
  } catch (error) {
    complaints.push(error.message.replaceAll("\u0332", "")); // it underlines what it means
  }
  process.stdout.write(JSON.stringify(complaints.length ? { error: complaints.join("; ") } : answer) + "\n");
});
