import { messageOf, UserError } from '../errors.js';
import { ModelError } from '../models/language-model.js';

export type HttpErrorType =
  | 'invalid_request_error'
  | 'not_found_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'server_error';

/** What a client is told when its request can't be met, in the form of OpenAI's API. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly type: HttpErrorType;
  /** The field of the request that is wrong. */
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    type: HttpErrorType,
    message: string,
    detail: { readonly param?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = detail.param;
    this.headers = detail.headers ?? {};
  }

  /** Body of the response. */
  get body() {
    return { error: { message: this.message, type: this.type, param: this.param ?? null, code: null } };
  }
}

/** A request that can never be met as it is. */
export function badRequest(message: string, param?: string): HttpError {
  return new HttpError(400, 'invalid_request_error', message, param === undefined ? {} : { param });
}

/** The model's advice is for who writes an experiment's config; a client has a request instead. */
const inTermsOfRequests = [
  ['show less (memory.tokens)', 'shorten the prompt'],
  ['model.contextTokens', '--context-tokens of the server'],
  ['model.maxTokens', 'max_tokens'],
] as const;

function forClient(message: string): string {
  return inTermsOfRequests.reduce((text, [config, request]) => text.replaceAll(config, request), message);
}

/** What went wrong in a generation, as the client sees it. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof UserError)
    return badRequest(forClient(error.problems.map(({ message }) => message).join('; ')));
  if (error instanceof ModelError && error.kind === 'bad-request')
    return badRequest(forClient(error.message));
  if (error instanceof ModelError && error.kind === 'aborted')
    return new HttpError(503, 'server_error', 'the server is shutting down');
  return new HttpError(500, 'server_error', forClient(messageOf(error)));
}
