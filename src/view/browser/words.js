/** Words and figures that several pages share; numbers are written as in the reports. */
import htm from 'htm';
import { formatNumber, formatReturn } from 'numbers';
import { h } from 'preact';

export const html = htm.bind(h);

/** @typedef {import('../messages.js').Item} Item */

/** @param {Item} item */
export const isHolder = ({ kind }) =>
  ['repeats', 'controls', 'collection', 'evaluation', 'sweep', 'models'].includes(kind);

/** What stands in a field of a form. @param {HTMLFormElement} form @param {string} name */
export const fieldOf = (form, name) => String(new FormData(form).get(name) ?? '');

/** What an item's progress counts. @param {Item} item */
export const unitOf = (item) =>
  isHolder(item)
    ? 'runs'
    : { run: 'iterations', play: 'games', training: 'steps' }[/** @type {'run'} */ (item.kind)];

/** @param {number | null | undefined} value */
export const shownReturn = (value) => (value === null || value === undefined ? '–' : formatReturn(value));

/** @param {number | null | undefined} value */
export const shownNumber = (value) => (value === null || value === undefined ? '–' : formatNumber(value));

/** `2026-01-31 12:30`, in UTC. @param {string | null} iso */
export const shownTime = (iso) => (iso === null ? '–' : iso.slice(0, 16).replace('T', ' '));

/** @param {string} status */
export const statusMark = (status) => html`<span class=${`status ${status}`}>${status}</span>`;
