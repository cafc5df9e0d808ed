// Where there is no margin, a citation opens and closes below its number, which otherwise leads to the list of sources.
document.addEventListener("click", (event) => {
  const number = event.target.closest("a.footnote-reference"), note = number?.nextElementSibling;
  if (!note?.matches(".cited") || getComputedStyle(note).float !== "none" || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  number.setAttribute("aria-expanded", note.classList.toggle("open"));
});
