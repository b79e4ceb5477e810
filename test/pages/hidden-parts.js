/* What a reader of a page can't see: runs in the page, and gives a list of texts. */
(() => {
  const wide = document.documentElement.clientWidth;
  const name = (element) =>
    `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} "${(element.textContent ?? '').trim().slice(0, 40)}"`;
  const scrolls = (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
  const isClipped = (element) => ['hidden', 'clip'].includes(getComputedStyle(element).overflowX);
  const inside = (element) => {
    for (let at = element.parentElement; at !== null; at = at.parentElement) if (scrolls(at)) return true;
    return false;
  };
  const found = [];
  if (document.documentElement.scrollWidth > wide) found.push('the page scrolls sideways');
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    if ((box.right > wide + 1 || box.left < -1) && !inside(element))
      found.push(`beyond the window: ${name(element)}`);
    // A line of the log begins with what its entry holds in full.
    const isSummary = element.matches('.reason, .repeated');
    if (!isSummary && isClipped(element) && element.scrollWidth > element.clientWidth + 1)
      found.push(`clipped: ${name(element)}`);
    const svg = element instanceof SVGTextElement ? element.ownerSVGElement : null;
    if (svg !== null && isClipped(svg)) {
      const edge = svg.getBoundingClientRect();
      if (box.left < edge.left - 1 || box.right > edge.right + 1) found.push(`cut: ${name(element)}`);
    }
  }
  for (const cell of document.querySelectorAll('tbody td, tbody th'))
    if (cell.getClientRects().length === 0 && cell.closest('details:not([open])') === null)
      found.push(`not shown: ${name(cell)}`);
  for (const axis of document.querySelectorAll('.x-axis')) {
    const labels = [...axis.querySelectorAll('text')].map((label) => label.getBoundingClientRect());
    labels.sort((a, b) => a.left - b.left);
    labels.forEach((label, i) => {
      if (i > 0 && label.left < labels[i - 1].right) found.push(`labels overlap: ${name(axis)}`);
    });
  }
  return found;
})();
