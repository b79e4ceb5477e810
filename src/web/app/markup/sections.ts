/** Sections rendered by the server, which has escaped all text. */
import { Component, type ComponentChildren, createRef, type RefObject } from 'preact';
import { html } from '../base/html.js';
import { activate } from './markup.js';

/** A page with its content as escaped markup. */
export interface Page {
  readonly title: string;
  readonly header: string;
  readonly footer: string;
  /** Config keys that differ between the runs of a study. */
  readonly keys?: readonly string[];
  /** True while the server reads more runs for it. */
  readonly isPartial?: boolean;
  readonly sections: readonly { readonly id: string; readonly title: string; readonly html: string }[];
}

/** Milliseconds until the next attempt to replace a section in which text is selected. */
const readingTime = 3000;

/** Markup that is updated in place, keeping open details and selected text. */
export class Markup extends Component<{ readonly markup: string; readonly class?: string }> {
  place: RefObject<HTMLDivElement | null> = createRef();
  shown = '';
  timer: ReturnType<typeof setTimeout> | undefined;

  override shouldComponentUpdate() {
    queueMicrotask(() => this.fill());
    return false;
  }

  override componentDidMount() {
    this.fill();
  }

  override componentWillUnmount() {
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
    activate(place);
  }

  override render() {
    return html`<div class=${this.props.class ?? ''} ref=${this.place}></div>`;
  }
}

const scrollPosition = (at: number[] | undefined): [number, number] => [at?.[0] ?? 0, at?.[1] ?? 0];

function keyOf(details: Element) {
  const within = details.parentElement?.closest('details[id]')?.id ?? '';
  return details.id || `${within} ${details.querySelector('summary')?.firstChild?.textContent}`;
}

export function SectionLinks({ sections }: { sections: Page['sections'] }) {
  return html`<nav aria-label="Sections">${sections.map(({ id, title }) => html`<a href=${`#${id}`}>${title}</a>`)}</nav>`;
}

export function Section({
  id,
  title,
  children,
}: {
  id: string;
  title: string;
  children?: ComponentChildren;
}) {
  return html`<section id=${id} aria-labelledby=${`${id}-title`}><h2 id=${`${id}-title`}>${title}</h2>${children}</section>`;
}
