// Print in the light theme, whatever the theme on screen, and restore that theme afterwards.
const root = document.documentElement;
let onScreen;

addEventListener("beforeprint", () => {
  onScreen ??= root.dataset.theme;
  root.dataset.theme = "light";
});

addEventListener("afterprint", () => {
  if (onScreen) root.dataset.theme = onScreen;
  onScreen = undefined;
});
