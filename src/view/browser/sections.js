/** Sections rendered by the server, which has escaped all text. */
import { Component, createRef } from 'preact';
import { html } from './words.js';

/** @typedef {{ title: string, header: string, footer: string, target?: number, sections: { id: string, title: string, html: string }[] }} Page */

/** Milliseconds until the next attempt to replace a section in which text is selected. */
const readingTime = 3000;

/**
 * Markup that is updated in place, keeping open details and selected text.
 * @extends {Component<{ markup: string, class?: string }>}
 */
export class Markup extends Component {
  /** @type {import('preact').RefObject<HTMLDivElement | null>} */
  place = createRef();
  shown = '';
  /** @type {number | undefined} */
  timer;

  shouldComponentUpdate() {
    queueMicrotask(() => this.fill());
    return false;
  }

  componentDidMount() {
    this.fill();
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
  }

  fill() {
    const place = this.place.current;
    const { markup } = this.props;
    if (place === null || markup === this.shown) return;
    clearTimeout(this.timer);
    const selection = getSelection();
    if (selection && !selection.isCollapsed && place.contains(selection.anchorNode)) {
      this.timer = setTimeout(() => this.fill(), readingTime);
      return;
    }
    const opened = new Set([...place.querySelectorAll('details[open]')].map(keyOf));
    const checked = [...place.querySelectorAll('input:checked')].map(({ id }) => id);
    const scrolled = new Map(
      [...place.querySelectorAll('.scroll')].map((box, i) => [i, [box.scrollLeft, box.scrollTop]]),
    );
    place.innerHTML = markup;
    this.shown = markup;
    for (const box of place.querySelectorAll('details')) if (opened.has(keyOf(box))) box.open = true;
    for (const id of checked) {
      const box = document.getElementById(id);
      if (box instanceof HTMLInputElement) box.checked = true;
    }
    for (const [i, box] of place.querySelectorAll('.scroll').entries())
      box.scrollTo(...scrollPosition(scrolled.get(i)));
    place.dispatchEvent(new CustomEvent('grown', { bubbles: true }));
  }

  render() {
    return html`<div class=${this.props.class ?? ''} ref=${this.place}></div>`;
  }
}

/** @param {number[] | undefined} at @returns {[number, number]} */
const scrollPosition = (at) => [at?.[0] ?? 0, at?.[1] ?? 0];

/** @param {Element} details */
function keyOf(details) {
  const within = details.parentElement?.closest('details[id]')?.id ?? '';
  return details.id || `${within} ${details.querySelector('summary')?.firstChild?.textContent}`;
}

/** @param {{ sections: Page['sections'] }} props */
export function SectionLinks({ sections }) {
  return html`<nav aria-label="Sections">${sections.map(({ id, title }) => html`<a href=${`#${id}`}>${title}</a>`)}</nav>`;
}

/** @param {{ id: string, title: string, children?: import('preact').ComponentChildren }} props */
export function Section({ id, title, children }) {
  return html`<section id=${id} aria-labelledby=${`${id}-title`}><h2 id=${`${id}-title`}>${title}</h2>${children}</section>`;
}
