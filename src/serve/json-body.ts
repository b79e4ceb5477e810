import type { IncomingMessage } from 'node:http';
import { badRequest, HttpError } from './http-error.js';

/** Far above any prompt that a model's context holds. */
export const longestBody = 8 * 2 ** 20;

/** @throws HttpError when the body is too long or no JSON */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  // Browsers send other types across origins without asking first.
  if (request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpError(415, 'invalid_request_error', 'the Content-Type must be application/json');
  if (Number(request.headers['content-length'] ?? 0) > longestBody) throw tooLong();
  const body = await readBody(request);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw badRequest('the body is no JSON in UTF-8');
  }
}

function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= longestBody) return;
      // What still comes is read and forgotten, so that the client gets to read the answer.
      chunks = [];
      reject(tooLong());
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

function tooLong(): HttpError {
  return new HttpError(413, 'invalid_request_error', `the body is longer than ${longestBody} bytes`, {
    headers: { connection: 'close' },
  });
}
