/** Files for the browser: the HTML shell of all pages, and the app's script and style sheet. */
import { html, render } from '../base/text/html.js';
import { appScript, appStyle, icon } from '../web/page.js';

/** A response body with its content type; `policy`: its Content-Security-Policy (default: `contentPolicy`). */
export interface Served {
  readonly type: string;
  readonly body: string | Buffer | (() => string | Buffer);
  readonly policy?: string;
}

/** Reads a file only once, because anyone can request it, even without the token. */
function once(read: () => string): () => Buffer {
  let body: Buffer | undefined;
  return () => (body ??= Buffer.from(read()));
}

/** Assets by address. They are served without a token. */
export const assets: Readonly<Record<string, Served>> = {
  '/assets/app.js': { type: 'text/javascript; charset=utf-8', body: once(appScript) },
  '/assets/app.css': { type: 'text/css; charset=utf-8', body: once(appStyle) },
};

/** Allows only scripts that this server serves, so scripts embedded in displayed text never run. */
export const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Policy for pictures: allows only their inline styles. */
export const picturePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/** The HTML shell of all pages. Served to anyone, so it contains nothing about the runs. */
export const shell: Served = {
  type: 'text/html; charset=utf-8',
  body: render(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>policyloop</title>
${icon}
<link rel="stylesheet" href="/assets/app.css">
<script defer src="/assets/app.js"></script>
</head>
<body>
<noscript><p class="empty">The view needs JavaScript; a run's report.html does not.</p></noscript>
</body>
</html>
`),
};
