/** Refusals of requests, with the error codes of OpenEnv's protocol. */
import type { z } from 'zod';

export type RefusalCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_ERROR'
  | 'CAPACITY_REACHED'
  | 'FACTORY_ERROR'
  | 'SESSION_ERROR';

/** A problem with one field of a request. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** A refused request. The session continues, except after CAPACITY_REACHED, FACTORY_ERROR and SESSION_ERROR. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly faults: readonly Fault[];

  /** @param faults if there are any, they replace the message */
  constructor(code: RefusalCode, message: string, faults: readonly Fault[] = []) {
    super(faults.length === 0 ? message : faults.map(faultText).join('; '));
    this.code = code;
    this.faults = faults;
  }
}

/** Maximum number of faults per request, and of characters in each; faults may quote the client. */
const mostFaults = 10;
const mostLetters = 400;

/** @throws Refusal listing the first `mostFaults` invalid fields */
export function validated<S extends z.ZodType>(schema: S, data: unknown): z.output<S> {
  const { data: read, error } = schema.safeParse(data);
  if (error === undefined) return read as z.output<S>;
  const faults = error.issues
    .slice(0, mostFaults)
    .map(({ path, message }) => ({ path, message: message.slice(0, mostLetters) }));
  throw new Refusal('VALIDATION_ERROR', '', faults);
}

function faultText({ path, message }: Fault): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
}

/** Returns the faults as error entries like Pydantic's. @param place path of the data in the request */
export function faultList({ faults }: Refusal, place: readonly string[]) {
  return faults.map(({ path, message }) => ({
    type: 'value_error',
    loc: [...place, ...path.map((part) => (typeof part === 'number' ? part : String(part)))],
    msg: message,
  }));
}
