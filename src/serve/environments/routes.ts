/** OpenEnv's paths of one environment: what a request without a session is answered. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { badRequest, HttpError, readJsonBody, requireMethod } from '../http.js';
import { longestMessage } from './messages.js';
import type { OfferedEnvironment } from './offered.js';
import { validated } from './refusal.js';
import { metadataOf, openApi, schemasOf } from './schemas.js';
import { checkedAction, freshState } from './session.js';
import { toolsAnswer } from './tools-answer.js';

const stepSchema = z.strictObject({
  action: z.unknown(),
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
});

/**
 * As in OpenEnv, each request has an environment of its own: an episode needs a WebSocket.
 * @throws HttpError for a path or a method that is not there; Refusal for what the request asks for
 */
export async function answerRoute(
  request: IncomingMessage,
  path: string,
  offered: OfferedEnvironment,
): Promise<object> {
  switch (path) {
    case '/health':
      requireMethod(request, 'GET', 'HEAD');
      return { status: 'healthy' };
    case '/metadata':
      requireMethod(request, 'GET', 'HEAD');
      return metadataOf(await offered.describe());
    case '/schema':
      requireMethod(request, 'GET', 'HEAD');
      return schemasOf(await offered.describe());
    case '/openapi.json':
      requireMethod(request, 'GET', 'HEAD');
      return openApi(await offered.describe());
    case '/state':
      requireMethod(request, 'GET', 'HEAD');
      return freshState((await offered.describe()).id);
    case '/reset':
      requireMethod(request, 'POST');
      return reset(await optionalBody(request), offered);
    case '/step':
      requireMethod(request, 'POST');
      return step(await readJsonBody(request, longestMessage), offered);
    case '/mcp':
      requireMethod(request, 'POST');
      return toolsAnswer(await readJsonBody(request, longestMessage));
    case '/ws':
      throw new HttpError(426, 'invalid_request_error', 'this is the path of a WebSocket', {
        headers: { upgrade: 'websocket' },
      });
    default:
      throw new HttpError(404, 'not_found_error', `there is nothing at ${path}`);
  }
}

async function reset(body: unknown, offered: OfferedEnvironment): Promise<object> {
  const session = await offered.open();
  try {
    return await session.reset(body);
  } finally {
    session.close();
  }
}

async function step(body: unknown, offered: OfferedEnvironment): Promise<never> {
  checkedAction(validated(stepSchema, body).action, await offered.describe());
  throw new HttpError(
    409,
    'invalid_request_error',
    'no reset has started this environment: each request has one of its own, and episodes are played over the WebSocket at /ws',
  );
}

/** A reset may come without a body. */
function optionalBody(request: IncomingMessage): Promise<unknown> | object {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  return length === '0' && encoding === undefined ? {} : readJsonBody(request, longestMessage);
}

/** @throws HttpError where there is no such environment, or the path names none and there are several */
export function routeOf(
  path: string,
  offered: readonly OfferedEnvironment[],
): { readonly offered: OfferedEnvironment; readonly path: string } {
  const [, first = '', ...rest] = path.split('/');
  const named = offered.find(({ name }) => first === addressOf(name) || first === encodeURIComponent(name));
  if (named !== undefined) return { offered: named, path: `/${rest.join('/')}` };
  const [only, ...others] = offered;
  if (only !== undefined && others.length === 0) return { offered: only, path };
  if (rest.length > 0)
    throw new HttpError(404, 'not_found_error', `no environment is called ${first}; GET / lists them`);
  throw badRequest('several environments are served: name one, e.g. /CartPole-v1/ws; GET / lists them');
}

/** The name as a path has it: a colon may stand there. */
export const addressOf = (name: string): string => encodeURIComponent(name).replaceAll('%3A', ':');
