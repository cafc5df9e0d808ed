/* The contents of a long page, beside it, follow the reader: the entry that the theme marks is brought into view. */
addEventListener("scrollend", () => {
  const column = document.querySelector(".bd-sidebar-secondary");
  const here = [...document.querySelectorAll("nav.page-toc a.active")].pop()?.getBoundingClientRect();
  if (here && (here.top < 0 || here.bottom > column.clientHeight)) {
    column.scrollTop += here.top - column.clientHeight / 2;
  }
});
