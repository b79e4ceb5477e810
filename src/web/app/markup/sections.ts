/** Markup rendered by the server, which has escaped all text. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { html } from '../base/html.js';
import { activate } from './markup.js';

/** Milliseconds until the next attempt to replace markup in which text is selected. */
const readingTime = 3000;

/** Shows markup. An update keeps open details, checked boxes and scroll positions, and waits while text is selected. */
export function Markup({ markup }: { readonly markup: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const fill = (box: HTMLElement) => {
      const selection = getSelection();
      if (selection?.isCollapsed === false && box.contains(selection.anchorNode)) {
        timer = setTimeout(() => fill(box), readingTime);
        return;
      }
      const opened = new Set([...box.querySelectorAll('details[open]')].map(keyOf));
      const checked = [...box.querySelectorAll('input:checked')].map(({ id }) => id);
      const scrolled = [...box.querySelectorAll('.scroll')].map((one) => [one.scrollLeft, one.scrollTop]);
      const drawings = [...box.querySelectorAll('.drawing')];
      box.innerHTML = markup;
      for (const details of box.querySelectorAll('details')) details.open ||= opened.has(keyOf(details));
      for (const input of box.querySelectorAll('input')) input.checked ||= checked.includes(input.id);
      for (const [i, one] of box.querySelectorAll('.scroll').entries())
        one.scrollTo(...((scrolled[i] ?? [0, 0]) as [number, number]));
      activate(box, drawings);
    };
    if (place.current) fill(place.current);
    return () => clearTimeout(timer);
  }, [markup]);
  return html`<div ref=${place}></div>`;
}

function keyOf(details: Element) {
  const within = details.parentElement?.closest('details[id]')?.id ?? '';
  return details.id || `${within} ${details.querySelector('summary')?.firstChild?.textContent}`;
}
