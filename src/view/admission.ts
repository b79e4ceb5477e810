/** Admits only browsers that opened the printed URL, because other users of the machine can also reach the port. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpError } from './http.js';

/** Compares in constant time. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(left!, right!);
}

/** Returns the Authorization header that pages send. A cookie would also be sent to other ports of the host. */
export const authorizationOf = (token: string): string => `Bearer ${token}`;

const redirectPage = (target: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>policyloop</title><meta http-equiv="refresh" content="0;url=${target}"></head>
<body><p><a href="${target}">Open the view</a></p></body></html>
`;

/** @throws HttpError 401 unless the Authorization header has the token or, except for POST, the address ends with it */
export function requireToken({ headers, method, url = '' }: IncomingMessage, token: string): void {
  if (isSame(headers.authorization ?? '', authorizationOf(token))) return;
  const [, givenToken] = /[?&]token=([\w-]+)$/.exec(url) ?? [];
  if (method !== 'POST' && givenToken !== undefined && isSame(givenToken, token)) return;
  throw new HttpError(401, 'open the address that policyloop view printed; it ends with a token', {
    'www-authenticate': 'Bearer realm="policyloop view"',
  });
}

/**
 * Writes a file that redirects to a secret URL. If a browser got the URL as an argument, other users could see it.
 * @returns its path (readable only by this user) and a function that removes it
 */
export function writeAddressFile(url: string): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'policyloop-view-'));
  const path = join(folder, 'open.html');
  writeFileSync(path, redirectPage(url), { mode: 0o600 });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
