/** Admits only browsers that opened the printed URL, because other users of the machine can also reach the port. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { html, render } from '../base/text/html.js';
import { HttpError } from './http.js';

/** Compares in constant time. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(left!, right!);
}

/** Value of the Authorization header that pages send. A cookie would also be sent to other ports of the host. */
export const authorizationOf = (token: string): string => `Bearer ${token}`;

/** Key that gives access to a single address, for requests that can't send headers, such as requests for pictures. */
const keyOf = (token: string, address: string): string =>
  createHmac('sha256', token).update(address).digest('base64url');

/** Adds keys to the addresses of frames and pictures. Text can't match, because its quotes are escaped. */
export const admittedMarkup = (markup: string, token: string): string =>
  markup.replaceAll(/\b(src|href)="(\/api\/[^"]*)"/g, (_, name: string, address: string) => {
    const key = keyOf(token, address.replaceAll('&amp;', '&'));
    return `${name}="${address}${address.includes('?') ? '&amp;' : '?'}key=${key}"`;
  });

const forwarding = (target: string) =>
  render(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>policyloop</title><meta http-equiv="refresh" content="0;url=${target}"></head>
<body><p><a href="${target}">Open the view</a></p></body></html>
`);

/** @throws HttpError 401 unless a header has the token or, except for POST, the address ends with the token or a key */
export function requireEntered({ headers, method, url = '' }: IncomingMessage, token: string): void {
  if (isSame(headers.authorization ?? '', authorizationOf(token))) return;
  const [, address = '', name, given = ''] = /^(.*)[?&](key|token)=([\w-]+)$/s.exec(url) ?? [];
  const wanted = name === 'token' ? token : keyOf(token, address);
  if (method !== 'POST' && name !== undefined && isSame(given, wanted)) return;
  throw new HttpError(401, 'open the address that policyloop view printed; it ends with a token', {
    headers: { 'www-authenticate': 'Bearer realm="policyloop view"' },
  });
}

/**
 * Writes a file that redirects to a secret URL. If a browser got the URL as an argument, other users could see it.
 * @returns its path (readable only by this user) and a function that removes it
 */
export function addressFile(url: string): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'policyloop-view-'));
  const path = join(folder, 'open.html');
  writeFileSync(path, forwarding(url), { mode: 0o600 });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
