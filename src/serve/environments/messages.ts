/** OpenEnv's WebSocket messages (versions 0.3 to 0.10), and our own for batches. */
import { z } from 'zod';
import { messageOf } from '../../base/errors.js';
import { parseJson } from '../../storage/json-depth.js';
import type { Batch, BatchObserved } from './batch.js';
import { faultList, Refusal, type RefusalCode, validated } from './refusal.js';
import type { Observed, Session, SessionState } from './session.js';

/** Maximum length of a message in bytes. */
export const longestMessage = 2 ** 20;

export interface ErrorAnswer {
  readonly type: 'error';
  readonly data: { readonly message: string; readonly code: RefusalCode } & Readonly<Record<string, unknown>>;
}

export type Answer =
  | { readonly type: 'observation'; readonly data: Observed }
  | { readonly type: 'state'; readonly data: SessionState }
  | { readonly type: 'batch'; readonly data: BatchObserved }
  | { readonly type: 'mcp'; readonly data: object }
  | ErrorAnswer;

const fields = z.record(z.string(), z.unknown(), { error: 'must be a JSON object' });
const withData = z.strictObject({ type: z.string(), data: fields });
const withoutData = z.strictObject({ type: z.string(), data: fields.nullish() });

export function readMessage(text: string): Readonly<Record<string, unknown>> {
  let message: unknown;
  try {
    message = parseJson(text);
  } catch (error) {
    const hint = /[[:, ](?:NaN|-?Infinity)\b/.test(text) ? '; numbers must be finite' : '';
    throw new Refusal('INVALID_JSON', `Invalid JSON: ${messageOf(error)}${hint}`);
  }
  if (typeof message === 'object' && message !== null && !Array.isArray(message))
    return message as Readonly<Record<string, unknown>>;
  throw new Refusal('VALIDATION_ERROR', 'a message must be a JSON object with a type');
}

/** Types of messages for one environment. */
export const sessionTypes: readonly unknown[] = ['reset', 'step', 'state'];
/** Types of messages for many environments, which can keep a server busy for seconds. */
export const batchTypes: readonly unknown[] = ['reset_batch', 'step_batch'];

/**
 * @returns undefined if the client ends the session
 * @throws Refusal if the message is invalid, or an environment fails
 */
export async function answerTo(
  message: Readonly<Record<string, unknown>>,
  session: Session,
  batch: Batch,
): Promise<Answer | undefined> {
  const { type } = message;
  switch (type) {
    case 'reset':
      return { type: 'observation', data: session.reset(validated(withoutData, message).data ?? {}) };
    case 'step':
      return { type: 'observation', data: session.step(validated(withData, message).data) };
    case 'reset_batch':
      return { type: 'batch', data: await batch.reset(validated(withData, message).data) };
    case 'step_batch':
      return { type: 'batch', data: batch.step(validated(withData, message).data) };
    case 'state':
      validated(withoutData, message);
      return { type, data: session.state };
    case 'mcp':
      return { type, data: toolsAnswer(validated(withData, message).data) };
    case 'close':
      return undefined;
    default:
      throw unknownType(type, [...sessionTypes, 'close']);
  }
}

export function unknownType(type: unknown, known: readonly unknown[]): Refusal {
  const shown = JSON.stringify(type)?.slice(0, 80) ?? 'none';
  return new Refusal('UNKNOWN_TYPE', `Unknown message type: ${shown}; use one of: ${known.join(', ')}`);
}

/** @param detail additional fields, next to message and code */
export function errorAnswer(error: unknown, detail: Readonly<Record<string, unknown>> = {}): ErrorAnswer {
  const refusal = error instanceof Refusal ? error : new Refusal('EXECUTION_ERROR', messageOf(error));
  const { code, message } = refusal;
  return {
    type: 'error',
    data: {
      message: code === 'VALIDATION_ERROR' ? `Invalid message: ${message}` : message,
      code,
      ...(refusal.faults.length > 0 && { errors: faultList(refusal, ['data']) }),
      ...detail,
    },
  };
}

const requestSchema = z.object({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  id: z.union([z.string(), z.number()]).nullish(),
});

/** Answers a JSON-RPC request, always with an error because environments have no tools. */
export function toolsAnswer(request: unknown): object {
  const { data } = requestSchema.safeParse(request);
  const error =
    data === undefined
      ? { code: -32_600, message: 'Invalid request: JSON-RPC 2.0 needs jsonrpc, method and id' }
      : { code: -32_603, message: 'Environment does not support MCP: use reset and step' };
  return { jsonrpc: '2.0', id: data?.id ?? null, error };
}
