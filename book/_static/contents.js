/* The contents of a page are below its entry in the menu where the margin is for side notes, and else in a column or a dialog of
   their own. */
{
  const contents = document.querySelector("nav.page-toc"), entry = contents?.parentElement, column = document.querySelector(".sidebar-secondary-item");
  const shared = matchMedia("(min-width: 1200px) and (max-width: 1599.98px)");
  const place = () => (shared.matches ? entry : column).append(contents);
  const show = (link) => {
    const around = link.closest(".bd-sidebar, .bd-toc"), { top, bottom } = link.getBoundingClientRect();
    if (top < 150 || bottom > around.clientHeight) around.scrollTop += top - around.clientHeight / 2;
  };
  if (column) {
    shared.addEventListener("change", place);
    place();
  }
  /* After the theme has scrolled the menu to where it was on the page before. */
  addEventListener("load", () => setTimeout(() => shared.matches && entry && show(entry.firstElementChild)));
  /* They follow the reader: the entry that the theme marks is brought into view. */
  addEventListener("scrollend", () => {
    const here = [...document.querySelectorAll("nav.page-toc a.active")].pop();
    if (here) show(here);
  });
}
