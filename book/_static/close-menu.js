/* On a narrow screen "On this page" lies over the page: following an entry closes it, so that the place can be seen. */
document.addEventListener("click", (event) => {
  if (event.target.closest("dialog a[href^='#']")) {
    event.target.closest("dialog").close();
  }
});
