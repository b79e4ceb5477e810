/** Admits a limited number of requests at a time, and reads their bodies. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { plural } from '../format/numbers.js';
import { HttpError, readJsonBody } from './http.js';

interface AdmittedRequest {
  readonly body: unknown;
  readonly response: ServerResponse;
  /** Aborts if the client disconnects, or the server stops. */
  readonly signal: AbortSignal;
}

/**
 * @returns a summary for the log
 * @throws errors that `httpErrorOf` converts, before anything is sent or in the middle of a stream
 */
export type Endpoint = (request: AdmittedRequest) => Promise<string>;

/**
 * @param most maximum number of waiting and running requests, which limits the number of bodies in memory. At the
 * limit, a new request replaces the oldest one whose body is incomplete.
 */
export function createAdmission(most = 64) {
  let open = 0;
  /** Functions that refuse the requests whose bodies are still being read, oldest first. */
  const reading = new Set<(error: HttpError) => void>();

  async function bodyOf(request: IncomingMessage): Promise<unknown> {
    let refuse = (_: HttpError) => {};
    const refused = new Promise<never>((_, reject) => {
      refuse = reject;
    });
    reading.add(refuse);
    try {
      return await Promise.race([readJsonBody(request), refused]);
    } finally {
      reading.delete(refuse);
    }
  }

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    stop: AbortSignal,
    endpoint: Endpoint,
  ): Promise<string> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    if (open >= most) {
      const [oldest] = reading;
      if (oldest === undefined)
        throw new HttpError(
          429,
          'rate_limit_error',
          `the server has reached its limit of ${plural(most, 'request')} at once; try again later`,
          {
            code: 'rate_limit_exceeded',
            headers: { 'retry-after': '1' },
          },
        );
      reading.delete(oldest);
      oldest(
        new HttpError(
          408,
          'invalid_request_error',
          'the body was still incomplete when the server reached its limit of requests',
          {
            headers: { connection: 'close' },
          },
        ),
      );
    }
    open++;
    try {
      const body = await bodyOf(request);
      return await endpoint({ body, response, signal: AbortSignal.any([gone.signal, stop]) });
    } finally {
      open--;
    }
  };
}
