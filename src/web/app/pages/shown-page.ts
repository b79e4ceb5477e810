/** A page whose content is data. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { ContentJson } from '../../../base/text/content.js';
import { chartFiles } from '../../drawing/chart-files.js';
import type { PageContent } from '../../messages.js';
import { html } from '../base/html.js';
import { useResponse } from '../base/live.js';
import { decodeUrlPart } from '../base/words.js';
import { ChartFiles } from '../chart/parts.js';
import { drawContent } from '../content/draw.js';

export type Page = PageContent<readonly ContentJson[]>;

/** Scrolls to the element that the URL's fragment names, and opens it if it is a log entry. */
export function openTarget(): void {
  const entry = document.getElementById(decodeUrlPart(location.hash.slice(1)));
  if (entry instanceof HTMLDetailsElement) entry.open = true;
  entry?.scrollIntoView();
}

/**
 * Loads a page. Once it is shown, scrolls to the section that the URL's fragment names.
 * @param parts number of parts shown above the sections; when it changes, sections move, so the page scrolls again
 */
export function usePage(address: string, parts = 0) {
  const { answer: page, problem, refresh } = useResponse<Page>(address);
  useEffect(() => {
    document.title = page?.title ?? 'policyloop';
  }, [page]);
  const isShown = page !== undefined;
  useEffect(() => {
    if (isShown && location.hash !== '') openTarget();
  }, [address, isShown, parts]);
  return { page, problem, refresh };
}

interface Props {
  readonly page: Page | undefined;
  readonly problem?: string;
  /** Shown until the page arrives. */
  readonly loading?: string;
  /** Returns content to show instead of a section's own, if there is any. */
  readonly live?: (section: string) => ComponentChildren;
  /** Controls below the header. */
  readonly children?: ComponentChildren;
}

export function PageView({ children, live, loading, page, problem }: Props) {
  const sections = page?.sections ?? [];
  const files = useMemo(() => chartFiles({ title: '', ...page, sections }), [page]);
  return html`<${ChartFiles.Provider} value=${files}>${page?.header.map(drawContent)}
${children}
${page && html`<nav aria-label="Sections">${sections.map(({ id, title }) => html`<a href=${`#${id}`}>${title}</a>`)}</nav>`}
<main>
${problem && html`<p class="failure" role="alert">${problem}</p>`}
${page === undefined && !problem && html`<p class="empty" role="status">${loading}</p>`}
${sections.map(
  ({ content, id, title }) => html`<section key=${id} id=${id} aria-labelledby=${`${id}-title`}>
<h2 id=${`${id}-title`}>${title}</h2>${live?.(id) || content.map(drawContent)}</section>`,
)}
</main>
${page && page.footer.length > 0 && html`<footer>${page.footer.map(drawContent)}</footer>`}<//>`;
}
