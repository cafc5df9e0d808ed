/* A browser loads no modules, and so no moving figures, for a page that is opened from a file: say so. */
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.setAttribute("role", "note");
  note.innerHTML = "<strong>This page was opened from a file, so its figures do not move.</strong> Run <code>make serve</code> in the course's folder and open the address that it prints.";
  document.querySelector("article")?.prepend(note);
}
