/* On a narrow screen, "On this page" covers the page: following an entry closes it, so that the target is visible. */
document.addEventListener("click", (event) => {
  if (event.target.closest("dialog a[href^='#']")) {
    event.target.closest("dialog").close();
  }
});
