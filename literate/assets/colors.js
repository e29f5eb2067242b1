// The colours, before anything is seen: those that the reader has chosen, or else those of the system. Material's
// own script for this place waits for a choice: who has made none on a dark system would see a light page first.
{
  const ofSystem = "(prefers-color-scheme)";
  const kept = __md_get("__palette")?.color;
  const fits = ({ dataset: { mdColorMedia: media } }) => media !== ofSystem && matchMedia(media).matches;
  const theme = [...document.getElementsByName("__palette")].find(fits);
  for (const name of ["scheme", "primary", "accent"]) {
    const color = kept && kept.media !== ofSystem ? kept[name] : theme?.getAttribute(`data-md-color-${name}`);
    if (color) document.body.setAttribute(`data-md-color-${name}`, color);
  }
}
