// Formulas are seen when their fonts are there: what is set without them would move. The browser waits
// for this script before it shows anything; for the fonts nothing waits but the formulas.
{
  const { classList } = document.documentElement;
  const show = () => classList.remove("without-fonts");
  // Each look at the page may find a formula that needs one more font.
  const look = () =>
    document.fonts.ready.then(() => (document.fonts.status === "loading" ? look() : requestAnimationFrame(show)));
  classList.add("without-fonts");
  // On a fast line the page may be there before this script.
  const begin = () => requestAnimationFrame(look);
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
  // A font that doesn't come is done without, after as long as browsers wait by themselves.
  setTimeout(show, 3000);
}
