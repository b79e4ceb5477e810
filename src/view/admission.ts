/** Who is answered: browsers that came by the address which the command printed. Other users of the machine reach the port, too. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { html, render } from '../format/html.js';
import { HttpError } from '../serve/http.js';

/** Whether two texts are the same, in a time that does not depend on where they differ. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(left!, right!);
}

/** Browsers keep one jar for all ports of a host: each view has a cookie of its own. */
const cookieName = (port: number) => `policyloop-view-${port}`;

/** What a browser that was let in shows. */
export const cookieOf = (port: number, token: string): string => `${cookieName(port)}=${token}`;

/** Whether a request has the token in its address: it comes from the terminal, an editor or a chat, and asks to be let in. */
export const isEntering = (query: URLSearchParams, token: string): boolean =>
  isSame(query.get('token') ?? '', token);

/** Lets a browser in, and sends it on to the same page without the token. */
export function enter(
  response: ServerResponse,
  {
    path,
    port,
    query,
    token,
  }: Readonly<{ path: string; port: number; query: URLSearchParams; token: string }>,
): void {
  query.delete('token');
  const rest = query.toString();
  const target = `/${path.replace(/^\/+/, '')}${rest === '' ? '' : `?${rest}`}`;
  response.setHeader('set-cookie', `${cookieOf(port, token)}; Path=/; HttpOnly; SameSite=Strict`);
  // A page in between: a browser that another site sent here would not show its new cookie to a redirection.
  response
    .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .end(forwarding(target));
}

const forwarding = (target: string) =>
  render(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>policyloop</title><meta http-equiv="refresh" content="0;url=${target}"></head>
<body><p><a href="${target}">To the view</a></p></body></html>
`);

/** @throws HttpError with 401 unless the browser was let in */
export function requireEntered({ headers }: IncomingMessage, port: number, token: string): void {
  const given = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim().split('='))
    .find(([name]) => name === cookieName(port))?.[1];
  if (isSame(given ?? '', token)) return;
  throw new HttpError(
    401,
    'permission_error',
    'this view answers browsers that open the address which policyloop view printed: it ends with a token',
    { headers: { 'www-authenticate': 'Token realm="policyloop view"' } },
  );
}

/**
 * A file that sends its reader to an address, for programs whose arguments all users of the machine can see.
 * @returns its path, which only this user can read, and what removes it
 */
export function addressFile(url: string): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'policyloop-view-'));
  const path = join(folder, 'open.html');
  writeFileSync(path, forwarding(url), { mode: 0o600 });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
