/**
 * Who may speak with the server: programs of this machine. A web page that a browser shows here must not, although its
 * requests come from this machine too: it gives itself away by its Origin, or, where its own host name was made to
 * point here (DNS rebinding), by the Host that it asks for.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.js';

export const loopbackHosts = ['127.0.0.1', '::1'] as const;
export type LoopbackHost = (typeof loopbackHosts)[number];

/** `host:port` as a URL has it. */
export function authority(host: LoopbackHost, port: number): string {
  return `${host === '::1' ? '[::1]' : host}:${port}`;
}

/** @throws HttpError with 403 for a Host or an Origin other than this server's own */
export function requireLocal({ headers }: Pick<IncomingMessage, 'headers'>, port: number): void {
  const authorities = ['127.0.0.1', 'localhost', '[::1]'].flatMap((name) =>
    port === 80 ? [name, `${name}:80`] : [`${name}:${port}`],
  );
  const host = headers.host?.toLowerCase() ?? '';
  if (!authorities.includes(host)) throw refused('Host', host);
  const { origin } = headers;
  if (origin !== undefined && !authorities.some((name) => origin === `http://${name}`))
    throw refused('Origin', origin);
}

function refused(header: string, value: string): HttpError {
  return new HttpError(403, 'permission_error', `requests with the ${header} "${value}" are not served`);
}
