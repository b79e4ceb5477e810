import { decode } from '../base/words.js';

/** Scrolls to the element that the URL's fragment names, and opens it if it is a log entry. */
export function openTarget(): void {
  const entry = document.getElementById(decode(location.hash.slice(1)));
  if (entry instanceof HTMLDetailsElement) entry.open = true;
  entry?.scrollIntoView();
}
