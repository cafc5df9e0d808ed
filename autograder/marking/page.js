// The page on which a person marks. Once saved, the points and comment of a group are what the gradebook holds.

const data = JSON.parse(document.getElementById("data").textContent);
const token = new URLSearchParams(location.search).get("token");
const byId = (id) => document.getElementById(id);
const [pointsField, commentField, problem, message] = ["points", "words", "problem", "said"].map(byId);
const saidBefore = byId("before-said");
const criteria = [...document.querySelectorAll("[data-criterion]")];
const roundPoints = (number) => Math.round(number * 1e6) / 1e6;
const groups = [...document.querySelectorAll("article")].map((article, number) => readGroup(data.groups[number], article));
let current = 0;
const RETRY_MILLISECONDS = 1000;
const isUnsaved = (group) => group.unsaved || Boolean(group.problem);

// Split the comment in the gradebook into criteria and free text: a criterion is missed if its comment is there.
function readGroup(saved, article) {
  const lines = saved.comment.split("\n").filter((line) => line.trim());
  const missed = data.criteria.map(({ comment }) => lines.includes(comment));
  return {
    article,
    answers: saved.answers,
    waiting: saved.waiting,
    by: saved.by,
    points: saved.points,
    met: missed.map((isMissed) => saved.points !== null && !isMissed),
    words: lines.filter((line) => !data.criteria.some(({ comment }) => comment === line)).join("\n"),
    problem: "",
    theirs: null,
    isRetried: false,
    saving: false,
    unsaved: false,
  };
}

function commentOf(group) {
  const missed = group.points === null ? [] : data.criteria.filter((_, number) => !group.met[number]);
  return [...missed.map(({ comment }) => comment), group.words.trim()].filter(Boolean).join("\n");
}

function formatPoints(group) {
  return `${group.points} of ${data.points} ${data.points === 1 ? "point" : "points"}`;
}

function drawArticle(group, number) {
  const { article, answers } = group;
  const count = answers.length > 1 ? `: ${answers.length} students say the same` : "";
  article.querySelector("h3").textContent = `Answer ${number + 1} of ${groups.length}${count}`;
  const state = article.querySelector(".state");
  const changed = group.waiting && group.points !== null;
  state.textContent =
    group.points === null ? "Not marked yet" : changed ? `Changed since it was given ${formatPoints(group)}` : formatPoints(group);
  if (group.by.length) state.textContent += `, marked by ${group.by.join(" and ")}`;
  if (isUnsaved(group)) state.textContent += " (not saved yet)";
  state.classList.toggle("done", !group.waiting && !isUnsaved(group));
  const lines = commentOf(group).split("\n").filter(Boolean);
  article.querySelector(".comment").replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
  );
  if (number === current) article.setAttribute("aria-current", "true");
  else article.removeAttribute("aria-current");
}

function draw() {
  groups.forEach(drawArticle);
  const { marked, of } = data.progress;
  const unsaved = groups.filter((group) => group.problem).length;
  byId("progress").textContent = `${marked} of ${of} marked${unsaved ? `, ${unsaved} not saved yet` : ""}`;
  const group = groups[current];
  byId("scheme").hidden = !group;
  if (!group) return;
  byId("which").textContent = `${current + 1} of ${groups.length}`;
  criteria.forEach((button, number) => button.setAttribute("aria-pressed", String(group.met[number])));
  if (document.activeElement !== pointsField) pointsField.value = group.points ?? "";
  if (document.activeElement !== commentField) commentField.value = group.words;
  byId("split").disabled = group.answers.length < 2;
  byId("undo").disabled = group.points === null;
  const remedy = group.theirs ? " Press m to save yours in its place, or r to reload the page." : "";
  const text = group.problem && (group.isRetried ? `Not saved yet, and tried again: ${group.problem}` : `Not saved. ${group.problem}${remedy}`);
  if (problem.textContent !== text) problem.textContent = text;
}

// Send a request; return the reply, which has a problem if the server refused the request.
async function post(path, wanted) {
  const headers = { "Content-Type": "application/json", "X-Marking-Token": token };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(wanted) });
  const isJson = response.headers.get("Content-Type").startsWith("application/json");
  const reply = isJson ? await response.json() : { problem: await response.text() };
  return response.ok || reply.problem ? reply : { problem: response.statusText };
}

function describe(error) {
  return error instanceof TypeError ? "The command that serves this page has ended, or cannot be reached." : error.message;
}

// Move the marks that changed criteria would move, or leave them; then reload the page to go on marking.
async function settleMoves(move) {
  try {
    const reply = await post("criteria", { seen: data.moves, move });
    if (reply.problem) throw new Error(reply.problem);
    location.reload();
  } catch (error) {
    byId("moves-problem").textContent = describe(error);
  }
}

// Send a request as ``post`` does; if the server cannot be reached, the reply says so, and that it may be sent again.
async function tryToPost(path, wanted) {
  try {
    return await post(path, wanted);
  } catch (error) {
    return { problem: describe(error), again: true };
  }
}

// Send one request at a time for each group; changes made meanwhile go into the next one. While the marks cannot be saved
// for a reason that passes, try again.
async function save(group) {
  group.unsaved = true;
  draw();
  if (group.saving) return;
  group.saving = true;
  while (group.unsaved) {
    group.unsaved = false;
    const waiting = group.points === null;
    const wanted = { answers: group.answers, points: group.points, comment: commentOf(group) };
    const reply = await tryToPost("marks", wanted);
    group.isRetried = Boolean(reply.again);
    if (reply.problem) {
      [group.unsaved, group.problem, group.theirs] = [true, reply.problem, reply.now ?? null];
      message.textContent = "";
      draw();
      if (!group.isRetried) break;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
    } else {
      [group.answers, group.waiting, group.by, group.problem, group.theirs] = [reply.answers, waiting, [], "", null];
      offerAgain(group.words.trim());
      data.progress = { marked: reply.marked, of: reply.of };
      message.textContent = waiting ? "Saved: it is waiting for marks." : `Saved: ${formatPoints(group)}.`;
    }
  }
  group.saving = false;
  draw();
}

// Offer the marker's own comment for the next answers, as the page does when it loads.
function offerAgain(words) {
  const known = [...saidBefore.querySelectorAll("button")].map((button) => button.textContent);
  if (!words || words.length > 500 || known.includes(words)) return;
  const item = document.createElement("li");
  item.append(Object.assign(document.createElement("button"), { type: "button", textContent: words }));
  saidBefore.querySelector("ul").prepend(item);
  saidBefore.hidden = false;
}

function sayAgain(words) {
  const group = groups[current];
  if (!group || group.words.split("\n").includes(words)) return;
  group.words = [group.words.trim(), words].filter(Boolean).join("\n");
  commentField.value = group.words;
  save(group);
  group.article.focus({ preventScroll: true });
}

function markGroup(group, met) {
  group.met = met;
  group.points = roundPoints(data.criteria.reduce((sum, one, number) => sum + (met[number] ? one.points : 0), 0));
  save(group);
}

function toggleCriterion(number) {
  const group = groups[current];
  if (group && number < criteria.length) markGroup(group, group.met.map((one, place) => (place === number ? !one : one)));
}

function goTo(number, focus = true) {
  if (!groups.length) return;
  saveComment();
  message.textContent = "";
  showGroup(Math.min(Math.max(number, 0), groups.length - 1), focus);
}

function showGroup(number, focus = true) {
  current = number;
  draw();
  if (!groups.length) return;
  groups[current].article.scrollIntoView({ block: "nearest" });
  if (focus) groups[current].article.focus({ preventScroll: true });
}

function goToNextWaiting() {
  const group = groups[current];
  if (group?.waiting && group.points !== null && !group.unsaved) save(group);
  const order = [...groups.keys()].map((step) => (current + 1 + step) % groups.length);
  const next = order.find((number) => number !== current && (groups[number].problem || (groups[number].waiting && !groups[number].saving)));
  if (next === undefined) message.textContent = data.shared ? "Nothing else is waiting here. Press r for more." : "Nothing else is waiting.";
  else goTo(next);
}

function withdrawMarks() {
  const group = groups[current];
  if (!group || group.points === null) return;
  [group.points, group.met] = [null, group.met.map(() => false)];
  save(group);
}

function saveComment() {
  const group = groups[current];
  if (group && commentField.value.trim() !== group.words.trim()) {
    group.words = commentField.value;
    save(group);
  }
}

function savePoints() {
  const group = groups[current];
  const given = pointsField.valueAsNumber;
  if (group && given >= 0 && given <= data.points && given !== group.points) {
    group.points = roundPoints(given);
    if (given === data.points) group.met = group.met.map(() => true);
    save(group);
  } else if (group && given !== group.points) {
    message.textContent = `Points go from 0 to ${data.points}.`;
    pointsField.value = group.points ?? "";
  }
}

// Make each answer a group of its own, which shows only what its student has written.
function splitGroup() {
  const group = groups[current];
  if (!group || group.answers.length < 2 || group.saving || group.unsaved) return;
  const parts = group.answers.map((answer) => {
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
  group.article.replaceWith(...parts.map(({ article }) => article));
  groups.splice(current, 1, ...parts);
  showGroup(current);
  message.textContent = `${parts.length} answers are marked apart now.`;
}

function overwriteTheirs() {
  const group = groups[current];
  if (!group?.theirs) return;
  const seen = new Map(group.theirs.map((one) => [one.id, one]));
  group.answers = group.answers.map((one) => seen.get(one.id) ?? one);
  save(group);
}

const keys = {
  a: () => groups[current] && markGroup(groups[current], groups[current].met.map(() => true)),
  0: () => groups[current] && markGroup(groups[current], groups[current].met.map(() => false)),
  j: () => goTo(current + 1),
  ArrowRight: () => goTo(current + 1),
  k: () => goTo(current - 1),
  ArrowLeft: () => goTo(current - 1),
  Enter: goToNextWaiting,
  p: () => pointsField.focus(),
  c: () => commentField.focus(),
  w: () => saidBefore.querySelector("button")?.focus(),
  u: withdrawMarks,
  s: splitGroup,
  m: overwriteTheirs,
  r: () => location.reload(),
  "?": () => byId("help").toggleAttribute("open"),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const writing = event.target === commentField || event.target === pointsField;
  if (writing && (event.key === "Escape" || (event.key === "Enter" && event.target === pointsField))) {
    event.target.blur();
    groups[current]?.article.focus({ preventScroll: true });
    event.preventDefault();
  }
  const isControlKey = event.target.closest?.("button, summary, input, a") && (event.key === "Enter" || event.key === " ");
  const scrolls = event.target.matches?.(".formula") && event.key.startsWith("Arrow");
  if (writing || isControlKey || scrolls || !byId("single").checked) return;
  const action = /^[1-9]$/.test(event.key) ? () => toggleCriterion(Number(event.key) - 1) : Object.hasOwn(keys, event.key) && keys[event.key];
  if (!action) return;
  event.preventDefault();
  if (!event.repeat || event.key.length > 1 || "jk".includes(event.key)) action();
});

criteria.forEach((button, number) => button.addEventListener("click", () => toggleCriterion(number)));
for (const [id, key] of Object.entries({ before: "k", next: "j", waiting: "Enter", all: "a", none: "0", undo: "u", split: "s" })) {
  byId(id).addEventListener("click", keys[key]);
}
byId("move")?.addEventListener("click", () => settleMoves(true));
byId("leave")?.addEventListener("click", () => settleMoves(false));
commentField.addEventListener("change", saveComment);
saidBefore.addEventListener("click", (event) => event.target.matches("button") && sayAgain(event.target.textContent));
pointsField.addEventListener("change", savePoints);
document.querySelector("main").addEventListener("click", (event) => {
  const article = event.target.closest("article");
  const number = groups.findIndex((group) => group.article === article);
  if (number >= 0 && number !== current) goTo(number, false);
});
addEventListener("beforeunload", (event) => {
  saveComment();
  if (groups.some((group) => group.saving || group.unsaved)) event.preventDefault();
});

showGroup(0);
