// The page on which a person marks. What stands in the gradebook is what `group.points` and `group.comment` say, once saved.

const data = JSON.parse(document.getElementById("data").textContent);
const token = new URLSearchParams(location.search).get("token");
const at = (id) => document.getElementById(id);
const [points, words, problem, said] = ["points", "words", "problem", "said"].map(at);
const criteria = [...document.querySelectorAll("[data-criterion]")];
const rounded = (number) => Math.round(number * 1e6) / 1e6;
const groups = [...document.querySelectorAll("article")].map((article, number) => opened(data.groups[number], article));
let current = 0;

// What the gradebook has for a group, read back into criteria and words: a criterion is missed where its comment stands.
function opened(told, article) {
  const lines = told.comment.split("\n").filter((line) => line.trim());
  const missed = data.criteria.map(({ comment }) => lines.includes(comment));
  const ready = new Set(data.criteria.map(({ comment }) => comment));
  return {
    article,
    answers: told.answers,
    waiting: told.waiting,
    points: told.points,
    met: missed.map((one) => told.points !== null && !one),
    words: lines.filter((line) => !ready.has(line)).join("\n"),
    problem: "",
    theirs: null,
    saving: false,
    unsaved: false,
  };
}

function commentOf(group) {
  const missed = group.points === null ? [] : data.criteria.filter((_, number) => !group.met[number]);
  return [...missed.map(({ comment }) => comment), group.words.trim()].filter(Boolean).join("\n");
}

function showPoints(group) {
  return `${group.points} of ${data.points} ${data.points === 1 ? "point" : "points"}`;
}

function drawArticle(group, number) {
  const { article, answers } = group;
  const count = answers.length > 1 ? `: ${answers.length} students say the same` : "";
  article.querySelector("h3").textContent = `Answer ${number + 1} of ${groups.length}${count}`;
  const state = article.querySelector(".state");
  const changed = group.waiting && group.points !== null;
  state.textContent =
    group.points === null ? "Not marked yet" : changed ? `Changed since it was given ${showPoints(group)}` : showPoints(group);
  if (group.unsaved) state.textContent += " (not saved yet)";
  state.classList.toggle("done", !group.waiting && !group.unsaved);
  const lines = commentOf(group).split("\n").filter(Boolean);
  article.querySelector(".comment").replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
  );
  article.toggleAttribute("aria-current", number === current);
  if (number === current) article.setAttribute("aria-current", "true");
}

function draw() {
  groups.forEach(drawArticle);
  const { marked, of } = data.progress;
  at("progress").textContent = `${marked} of ${of} marked`;
  const group = groups[current];
  at("scheme").hidden = !group;
  if (!group) return;
  at("which").textContent = `${current + 1} of ${groups.length}`;
  criteria.forEach((button, number) => button.setAttribute("aria-pressed", String(group.met[number])));
  if (document.activeElement !== points) points.value = group.points ?? "";
  if (document.activeElement !== words) words.value = group.words;
  at("split").disabled = group.answers.length < 2;
  at("undo").disabled = group.points === null;
  const remedy = group.theirs ? " Press m to save yours in its place, or r to load the page anew." : "";
  const text = group.problem && `Not saved. ${group.problem}${remedy}`;
  if (problem.textContent !== text) problem.textContent = text;
}

// One request at a time for a group; what is changed meanwhile goes with the next.
async function save(group) {
  group.unsaved = true;
  draw();
  if (group.saving) return;
  group.saving = true;
  try {
    while (group.unsaved) {
      group.unsaved = false;
      const waiting = group.points === null;
      const sent = JSON.stringify({ answers: group.answers, points: group.points, comment: commentOf(group) });
      const headers = { "Content-Type": "application/json", "X-Marking-Token": token };
      const reply = await fetch("marks", { method: "POST", headers, body: sent });
      const told = reply.headers.get("Content-Type").startsWith("application/json") ? await reply.json() : {};
      if (!reply.ok) {
        group.theirs = told.now ?? null;
        throw new Error(told.problem ?? (await reply.text()));
      }
      [group.answers, group.waiting, group.problem, group.theirs] = [told.answers, waiting, "", null];
      data.progress = { marked: told.marked, of: told.of };
      said.textContent = waiting ? "Saved: it waits for marks." : `Saved: ${showPoints(group)}.`;
    }
  } catch (error) {
    group.unsaved = true;
    group.problem = error instanceof TypeError ? "The command that serves this page has ended, or cannot be reached." : error.message;
    said.textContent = "";
  }
  group.saving = false;
  draw();
}

function give(group, met) {
  group.met = met;
  group.points = rounded(data.criteria.reduce((sum, one, number) => sum + (met[number] ? one.points : 0), 0));
  save(group);
}

function toggle(number) {
  const group = groups[current];
  if (group && number < criteria.length) give(group, group.met.map((one, place) => (place === number ? !one : one)));
}

function go(number, focus = true) {
  if (!groups.length) return;
  keepWords();
  said.textContent = "";
  show(Math.min(Math.max(number, 0), groups.length - 1), focus);
}

function show(number, focus = true) {
  current = number;
  draw();
  if (!groups.length) return;
  groups[current].article.scrollIntoView({ block: "nearest" });
  if (focus) groups[current].article.focus({ preventScroll: true });
}

function nextThatWaits() {
  const group = groups[current];
  if (group?.waiting && group.points !== null && !group.unsaved) save(group);
  const order = [...groups.keys()].map((step) => (current + 1 + step) % groups.length);
  const next = order.find((number) => number !== current && groups[number].waiting && !groups[number].saving);
  if (next === undefined) said.textContent = "Nothing else waits.";
  else go(next);
}

function takeBack() {
  const group = groups[current];
  if (!group || group.points === null) return;
  [group.points, group.met] = [null, group.met.map(() => false)];
  save(group);
}

function keepWords() {
  const group = groups[current];
  if (group && words.value.trim() !== group.words.trim()) {
    group.words = words.value;
    save(group);
  }
}

function keepPoints() {
  const group = groups[current];
  const given = points.valueAsNumber;
  if (group && given >= 0 && given <= data.points && given !== group.points) {
    group.points = rounded(given);
    if (given === data.points) group.met = group.met.map(() => true);
    save(group);
  } else if (group && given !== group.points) {
    said.textContent = `Points go from 0 to ${data.points}.`;
    points.value = group.points ?? "";
  }
}

// Each answer of a group becomes a group of its own, with the words that its student has written.
function split() {
  const group = groups[current];
  if (!group || group.answers.length < 2 || group.saving || group.unsaved) return;
  const apart = group.answers.map((answer) => {
    const article = group.article.cloneNode(true);
    for (const spelling of article.querySelectorAll(".spelling")) {
      if (!spelling.dataset.ids.split(" ").includes(answer.id)) spelling.remove();
    }
    for (const name of article.querySelectorAll("[data-id]")) if (name.dataset.id !== answer.id) name.remove();
    const title = article.querySelector("h3");
    title.id = `answer-${answer.id}`;
    article.setAttribute("aria-labelledby", title.id);
    return { ...group, article, answers: [answer], met: [...group.met] };
  });
  group.article.replaceWith(...apart.map(({ article }) => article));
  groups.splice(current, 1, ...apart);
  show(current);
  said.textContent = `${apart.length} answers are marked apart now.`;
}

function saveMine() {
  const group = groups[current];
  if (!group?.theirs) return;
  const seen = new Map(group.theirs.map((one) => [one.id, one]));
  group.answers = group.answers.map((one) => seen.get(one.id) ?? one);
  save(group);
}

const keys = {
  a: () => groups[current] && give(groups[current], groups[current].met.map(() => true)),
  0: () => groups[current] && give(groups[current], groups[current].met.map(() => false)),
  j: () => go(current + 1),
  ArrowRight: () => go(current + 1),
  k: () => go(current - 1),
  ArrowLeft: () => go(current - 1),
  Enter: nextThatWaits,
  p: () => points.focus(),
  c: () => words.focus(),
  u: takeBack,
  s: split,
  m: saveMine,
  r: () => location.reload(),
  "?": () => at("help").toggleAttribute("open"),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const writing = event.target === words || event.target === points;
  if (writing && (event.key === "Escape" || (event.key === "Enter" && event.target === points))) {
    event.target.blur();
    groups[current]?.article.focus({ preventScroll: true });
    event.preventDefault();
  }
  const own = event.target.closest?.("button, summary, input, a") && (event.key === "Enter" || event.key === " ");
  const scrolls = event.target.matches?.(".formula") && event.key.startsWith("Arrow");
  if (writing || own || scrolls || !at("single").checked) return;
  const act = /^[1-9]$/.test(event.key) ? () => toggle(Number(event.key) - 1) : Object.hasOwn(keys, event.key) && keys[event.key];
  if (!act) return;
  event.preventDefault();
  if (!event.repeat || event.key.length > 1 || "jk".includes(event.key)) act();
});

criteria.forEach((button, number) => button.addEventListener("click", () => toggle(number)));
for (const [id, key] of Object.entries({ before: "k", next: "j", waiting: "Enter", all: "a", none: "0", undo: "u", split: "s" })) {
  at(id).addEventListener("click", keys[key]);
}
words.addEventListener("change", keepWords);
points.addEventListener("change", keepPoints);
document.querySelector("main").addEventListener("click", (event) => {
  const article = event.target.closest("article");
  const number = groups.findIndex((group) => group.article === article);
  if (number >= 0 && number !== current) go(number, false);
});
addEventListener("beforeunload", (event) => {
  keepWords();
  if (groups.some((group) => group.saving || group.unsaved)) event.preventDefault();
});

show(0);
