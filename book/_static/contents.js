/* The contents of a page are below its entry in the menu where the margin is for side notes, and else in a column or a dialog of
   their own. They mark the section that is being read. */
{
  const contents = document.querySelector("nav.page-toc"), entry = contents?.parentElement, column = document.querySelector(".sidebar-secondary-item");
  const links = Object.fromEntries([...(contents?.querySelectorAll("a") ?? [])].map((link) => [link.hash.slice(1), link]));
  const shared = matchMedia("(min-width: 1200px) and (max-width: 1599.98px)");
  const place = () => (shared.matches ? entry : column).append(contents);
  const show = (link) => {
    const around = link.closest(".bd-sidebar, .bd-toc"), { top, bottom } = link.getBoundingClientRect();
    if (top < 150 || bottom > around.clientHeight) around.scrollTop += top - around.clientHeight / 2;
  };
  /* What lies near the top of the window tells the section without laying out others. */
  const mark = () => {
    if (!contents?.checkVisibility?.()) return;
    const atEnd = scrollY && scrollY + innerHeight > document.documentElement.scrollHeight - 2, { left } = document.querySelector("article").getBoundingClientRect();
    let here = atEnd ? null : document.elementFromPoint(left + 60, 140)?.closest("section[id]");
    while (here && !links[here.id]) here = here.parentElement.closest("section[id]");
    const link = atEnd ? Object.values(links).pop() : links[here?.id], before = contents.querySelector(".active");
    if (link === before) return;
    before?.classList.remove("active");
    before?.removeAttribute("aria-current");
    link?.classList.add("active");
    link?.setAttribute("aria-current", "true");
    if (link) show(link);
  };
  let waiting;
  addEventListener("scroll", () => (waiting ??= setTimeout(() => ((waiting = null), mark()), 100)), { passive: true });
  if (column) {
    shared.addEventListener("change", place);
    place();
  }
  /* After the theme has scrolled the menu to where it was on the page before. */
  addEventListener("load", () => setTimeout(() => {
    if (shared.matches && entry) show(entry.firstElementChild);
    mark();
  }));
}
