/* After this page has loaded, load the fonts that it does not use, so that they are ready for the next page. */
addEventListener("load", () => {
  if (!navigator.connection?.saveData) document.fonts.forEach((face) => face.load().catch(() => {}));
});
