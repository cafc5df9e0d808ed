// On paper the colours are the light ones, whatever the screen has; afterwards the screen has its own again.
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
