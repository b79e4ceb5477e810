/** Reads the error of a server in any of the providers' forms, as plain words. */

import { isRecord } from '../../modules/user-module.js';
import { deepestJson, isDeeperThan, jsonIn } from '../../storage/json-depth.js';

export interface ServerError {
  readonly message: string;
  /** A word such as `insufficient_quota`. */
  readonly code?: string;
  /** The status that the error itself names, as an error with HTTP 200 does. */
  readonly status?: number;
}

export function serverError(body: string): ServerError {
  const value = jsonIn(body);
  if (value === undefined) return { message: body === '' ? '' : describeBody(body) };
  const error = errorIn(value);
  return { ...error, message: shorten(error.message) };
}

/** The error object stands under `error` (OpenAI), at the top level (SGLang, Mistral), or in a list (Gemini). */
function errorIn(value: unknown): ServerError {
  if (Array.isArray(value)) return errorIn(value[0]);
  if (!isRecord(value)) return { message: wordsOf(value) };
  const error = isRecord(value.error) ? value.error : value;
  const said = [error.error, error.message, error.detail, value.message].map(wordsOf).find(Boolean);
  const code = [error.code, error.type].find((one) => typeof one === 'string' && !/^(\d+|None)$/.test(one));
  const status = Number(error.code);
  return {
    message: (said ?? '') + causeIn(error.metadata),
    ...(code !== undefined && { code: code as string }),
    ...(status >= 400 && status <= 599 && { status }),
  };
}

/** OpenRouter says “Provider returned error”, and puts the provider's own words into `raw`, often as JSON. */
function causeIn(metadata: unknown): string {
  if (!isRecord(metadata)) return '';
  const { provider_name: provider, raw } = metadata;
  const parsed = typeof raw === 'string' ? jsonIn(raw) : raw;
  const cause = parsed === undefined ? wordsOf(raw) : errorIn(parsed).message;
  const parts = [wordsOf(provider), cause].filter(Boolean);
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`;
}

/** Texts of FastAPI (`detail`, a text or a list of problems) and Mistral (the same within `message`), too. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).filter(Boolean).join('; ');
  if (!isRecord(value)) return '';
  const { detail, loc, message, msg } = value;
  if (typeof msg !== 'string') return wordsOf(detail ?? message);
  const place = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
  return place === '' ? msg : `${place}: ${msg}`;
}

/** The error that a refused request was answered with: all its texts, if its form is not known. */
export function refusalIn(body: string): ServerError {
  const error = serverError(body);
  return error.message === '' ? { ...error, message: shorten(textsIn(jsonIn(body)).join(', ')) } : error;
}

const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : Object.values(isRecord(value) || Array.isArray(value) ? value : {}).flatMap(textsIn);

/** What a body is that was expected to be JSON. */
export function describeBody(body: string): string {
  if (body.trim() === '') return 'an empty body';
  if (isWebPage(body)) {
    const title = /<title>([^<]*)<\/title>/i.exec(body)?.[1]?.trim();
    return `an HTML page${title ? ` (“${shorten(title)}”)` : ''}`;
  }
  return isDeeperThan(body, deepestJson)
    ? `lists and objects nested more than ${deepestJson} deep`
    : `text that is no JSON: ${shorten(body)}`;
}

export const isWebPage = (body: string) => /^\s*<(!doctype|html|head|body|\?xml|!--)/i.test(body);

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`;
}
