/** Files for the browser: the HTML shell of all pages, and the app's script and style sheet. */
import { appScript, appStyle, pageShell } from '../web/page.js';

/** A response body with its content type; `csp`: its Content-Security-Policy (default: `contentCsp`). */
export interface ServedFile {
  readonly type: string;
  readonly body: string | Buffer | (() => string | Buffer);
  readonly csp?: string;
}

/** Reads a file only once, because anyone can request it, even without the token. */
function once(read: () => string): () => Buffer {
  let body: Buffer | undefined;
  return () => (body ??= Buffer.from(read()));
}

/** Assets by address. They are served without a token. */
export const assets: Readonly<Record<string, ServedFile>> = {
  '/assets/app.js': { type: 'text/javascript; charset=utf-8', body: once(appScript) },
  '/assets/app.css': { type: 'text/css; charset=utf-8', body: once(appStyle) },
};

/** Allows only scripts that this server serves, so scripts embedded in displayed text never run. */
export const contentCsp = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Content-Security-Policy for pictures: allows only their inline styles. */
export const pictureCsp = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/** The HTML shell of all pages. Served to anyone, so it contains nothing about the runs. */
export const emptyPage: ServedFile = {
  type: 'text/html; charset=utf-8',
  body: pageShell(
    'policyloop',
    '<link rel="stylesheet" href="/assets/app.css">\n<script defer src="/assets/app.js"></script>',
    '<noscript><p class="empty">The view needs JavaScript.</p></noscript>',
  ),
};
