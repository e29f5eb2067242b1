// Formulas are seen when their fonts are there: what is set without them would move. The browser waits
// for this script before it shows anything; for the fonts nothing waits but the formulas.
{
  const page = document.documentElement;
  const show = () => page.removeAttribute("data-without-fonts");
  // Each look at the page may find a formula that needs one more font.
  const look = () =>
    document.fonts.ready.then(() => (document.fonts.status === "loading" ? look() : requestAnimationFrame(show)));
  // Fonts are asked for when the page is laid out, which comes after what is done for its first frame.
  const begin = () => requestAnimationFrame(() => requestAnimationFrame(look));
  page.setAttribute("data-without-fonts", "");
  // The end of the text, not of the scripts that come after it. On a fast line it may be there already.
  if (document.readyState === "loading") document.addEventListener("readystatechange", begin, { once: true });
  else begin();
  // A font that doesn't come is done without, after as long as browsers wait by themselves.
  setTimeout(show, 3000);
}
