/* Fonts that this page has no use for are there when the next one has: they come when all of this page has come. */
addEventListener("load", () => {
  if (!navigator.connection?.saveData) document.fonts.forEach((face) => face.load().catch(() => {}));
});
